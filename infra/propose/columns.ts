import { normalTime } from '../../pipeline/formats/csv/times.js'
import { detectFormat, isDayFormat } from '../../schemas/time/timestamp.js'
import { isNumber, isTime, type Table } from './table.js'
import { toWord } from './words.js'

/** What the texts of a column are, where all that are not empty are of one kind. */
export type ColumnKind = 'time' | 'date' | 'clock' | 'number' | 'text' | 'empty'

export interface Column {
  /** From 0. */
  readonly at: number
  readonly name: string
  /** The name as its letters and digits, for comparisons. */
  readonly word: string
  readonly kind: ColumnKind
  /** Its different texts in their order, at most `distinctMax`. */
  readonly texts: readonly string[]
  readonly isAlwaysThere: boolean
}

const distinctMax = 50_000

export function toColumns({ rows, header, width }: Table): readonly Column[] {
  return Array.from({ length: width }, (_, at) => {
    const texts = new Set<string>()
    let empty = 0
    for (const row of rows) {
      const text = row[at] as string
      if (text === '') empty++
      else if (texts.size < distinctMax) texts.add(text)
    }
    const name = header?.[at] ?? ''
    const isAlwaysThere = empty === 0
    return {
      at,
      name,
      word: toWord(name),
      kind: kindOf([...texts]),
      texts: [...texts],
      isAlwaysThere,
    }
  })
}

const clock = /^([01]?\d|2[0-4]):[0-5]\d(:[0-5]\d)?( ?[ap]\.?m\.?)?$/i
const bareClock = /^([01]\d|2[0-4])[0-5]\d([0-5]\d)?$/

function kindOf(texts: readonly string[]): ColumnKind {
  if (texts.length === 0) return 'empty'
  if (texts.every((text) => clock.test(text))) return 'clock'
  // Four digits from 0000 to 2359 only, and all the same length, are a time of day rather than a number.
  if (texts.length > 12 && texts.length <= 1_440 && texts.every((text) => bareClock.test(text))) {
    return 'clock'
  }
  if (texts.every(isTime)) {
    const isDay = texts.every((text) => {
      const format = detectFormat(normalTime(text))
      return format !== undefined && isDayFormat(format)
    })
    return isDay ? 'date' : 'time'
  }
  const others = texts.filter((text) => !isNumber(text)).length
  return others === 0 || (others <= othersMax && texts.length >= 20) ? 'number' : 'text'
}

/** Different texts such as `Null` that a column of numbers may have; the loader rejects them. */
const othersMax = 3

/** How a person refers to a column: its name, or its position from 1. */
export function toReference(column: Column, columns: readonly Column[]): string | number {
  const same = columns.filter((one) => one.name.toLowerCase() === column.name.toLowerCase())
  return column.name === '' || same.length > 1 ? column.at + 1 : column.name
}
