import type { CsvSettings } from '../../../schemas/settings/formats/csv.js'
import { type QualityLetter, qualityOf } from '../../../schemas/usage-row.js'

/** Says of what quality the reads of a row are, and counts what is not as sent. */
export interface Qualities {
  of(
    fields: readonly string[],
    column: number | undefined,
    intervals: number,
  ): QualityLetter | 'missing'
}

/** Texts of a column that are counted apart. */
const textsMax = 20

/** How notes show the texts of a column: the first ones by themselves, all others together. */
export function createShownTexts(): (text: string) => string {
  const known = new Set<string>()
  return (text) => {
    if (known.size < textsMax) known.add(text)
    return known.has(text) ? JSON.stringify(text.slice(0, 40)) : 'of other texts'
  }
}

/**
 * Looks up the text of the quality column. One that the profile does not list says nothing: such reads are as
 * sent, and counted by their text.
 */
export function createQualities(
  setting: CsvSettings['columns']['quality'],
  count: (what: string, intervals: number) => void,
): Qualities {
  if (setting === undefined) return { of: () => '' }
  const { asSent = [], estimated = [], substituted = [], missing = [] } = setting
  const known = new Map<string, QualityLetter | 'missing'>([
    ...['', ...asSent].map((text) => [text, ''] as const),
    ...estimated.map((text) => [text, 'E'] as const),
    ...substituted.map((text) => [text, 'S'] as const),
    ...missing.map((text) => [text, 'missing'] as const),
  ])
  const shown = createShownTexts()
  return {
    of: (fields, column = -1, intervals) => {
      const text = (fields[column] ?? '').trim()
      const found = known.get(text)
      if (found === undefined) {
        const what = `with quality ${shown(text)}, which the profile does not list`
        count(`${what}: loaded as sent`, intervals)
        return ''
      }
      if (found === 'missing') count('missing by the quality column: not loaded', intervals)
      else if (found !== '') count(`${qualityOf(found)} by the sender: loaded`, intervals)
      return found
    },
  }
}
