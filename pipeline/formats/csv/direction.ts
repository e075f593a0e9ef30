import type { CsvSettings } from '../../../schemas/settings/formats/csv.js'
import { createShownTexts } from './quality.js'

/** Whether the quantities of a row are generation. */
export interface Direction {
  readonly isGeneration: boolean
  /** Called with how many intervals are loaded. */
  count(intervals: number): void
}

const onlyConsumption: Direction = { isGeneration: false, count: () => undefined }
/** What may be the number of a meter or an account, where another column is mapped. */
const longNumbers = /\d{6,}/g

/**
 * Looks up the text of the column of directions. One that the profile does not list is consumption; each is
 * counted by its text.
 */
export function createDirections(
  setting: CsvSettings['columns']['generation'],
  count: (what: string, intervals: number) => void,
): (fields: readonly string[], column: number | undefined) => Direction {
  if (setting === undefined) return () => onlyConsumption
  const shown = createShownTexts()
  return (fields, column = -1) => {
    const text = (fields[column] ?? '').trim()
    const isGeneration = setting.is.includes(text)
    const loaded = isGeneration ? 'loaded as negative' : 'loaded as consumption'
    return {
      isGeneration,
      count: (intervals) =>
        count(`of direction ${shown(text.replace(longNumbers, '#'))}: ${loaded}`, intervals),
    }
  }
}
