import type { QualityLetter } from '../../../schemas/usage-row.js'

/** The qualities that a 400 record states for intervals of the 300 record before it. */
export interface QualityRange {
  readonly line: number
  /** The first and last interval, from 1; NaN where they are not numbers. */
  readonly from: number
  readonly to: number
  /** First letter of the quality method. */
  readonly quality: string
}

export function readQualityRange(fields: readonly string[], line: number): QualityRange {
  const [, from = '', to = '', method = ''] = fields.map((field) => field.trim())
  const quality = method.slice(0, 1).toUpperCase()
  return { line, from: toNumber(from), to: toNumber(to), quality }
}

const toNumber = (text: string) => (/^\d{1,4}$/.test(text) ? Number(text) : Number.NaN)

/** Actual, estimated, final substitute, null, substitute; V is that of the 400 records. */
const known = 'AEFNS'

/** The quality of a read; final substitutes and others are one. */
export function nemLetter(quality: string): QualityLetter {
  if (quality === 'E') return 'E'
  return quality === 'F' || quality === 'S' ? 'S' : ''
}

/**
 * The quality of each interval of a day, or why the record is not usable: 400 records must follow each
 * other from the first interval to the last.
 */
export function qualitiesOf(
  method: string,
  ranges: readonly QualityRange[],
  intervals: number,
): readonly string[] | string {
  const quality = method.slice(0, 1).toUpperCase()
  if (quality !== 'V' && ranges.length === 0) {
    if (known.includes(quality)) return Array.from({ length: intervals }, () => quality)
    return `QualityMethod ${JSON.stringify(method.slice(0, 10))} is not one of A, E, F, N, S or V`
  }
  if (ranges.length === 0) return 'its quality varies (V), but no 400 record follows it'
  const qualities: string[] = []
  for (const range of ranges) {
    const { line, from, to } = range
    if (from !== qualities.length + 1 || !(to >= from) || to > intervals) {
      return `the 400 record on line ${line} is about intervals ${from} to ${to}, expected ${qualities.length + 1} to at most ${intervals}`
    }
    if (!known.includes(range.quality) || range.quality === '') {
      return `the quality of the 400 record on line ${line} is not one of A, E, F, N or S`
    }
    for (let at = from; at <= to; at++) qualities.push(range.quality)
  }
  if (qualities.length === intervals) return qualities
  return `its 400 records end with interval ${qualities.length} of ${intervals}`
}
