import { csvField } from '../../schemas/field.js'
import type { QualityLetter } from '../../schemas/usage-row.js'
import type { RecordRefusal, SentRecord } from './format.js'
import type { SentLine } from './lines.js'
import { decimalCharactersMax } from './scale.js'

/** The identifiers of a read. */
export interface Identifiers {
  readonly account: string
  readonly site: string
  readonly meter: string
}

/** The first three fields of plain rows, with a comma behind each. */
export function plainIdentifiers({ account, site, meter }: Identifiers): string {
  return `${csvField(account)},${csvField(site)},${csvField(meter)},`
}

/** A timestamp that means one instant, epoch seconds. */
export function toInstantText(seconds: number): string {
  return `${new Date(seconds * 1_000).toISOString().slice(0, 19)}Z`
}

/** The timestamps of so many intervals of a length, from a start on. */
export type Instants = (start: number, seconds: number, count: number) => readonly string[]

const rememberedMax = 1_000

/** Remembers the timestamps of days: those of a file are nearly the same for each of its meters. */
export function createInstants(): Instants {
  const known = new Map<string, readonly string[]>()
  return (start, seconds, count) => {
    const key = `${start} ${seconds} ${count}`
    const texts =
      known.get(key) ??
      Array.from({ length: count }, (_, at) => toInstantText(start + at * seconds))
    if (known.size >= rememberedMax) known.clear()
    known.set(key, texts)
    return texts
  }
}

const decimal = /^-?(\d+(\.\d+)?|\.\d+)$/

/** A quantity of a plain row; what is not a decimal, or a too long one, becomes a text that the row judge refuses. */
export function plainQuantity(text: string): string {
  const isDecimal = text.length <= decimalCharactersMax && decimal.test(text)
  return isDecimal || text === '' ? text : '?'
}

/** What a row has behind its identifiers. */
interface PlainRead {
  readonly timestamp: string
  readonly quantity: string
  /** 0 where the file does not state it. */
  readonly seconds: number
  readonly quality: QualityLetter
}

/** Columns of a read behind those of the plain layout: its length and its quality. */
export const readColumnsExtra = 2

/** How rows are to be read that have instants and state both. */
export const statedReads = {
  stated: true,
  qualities: true,
  extraColumns: readColumnsExtra,
  times: { stamp: 'start' },
} as const

export function plainRead(identifiers: string, read: PlainRead): string {
  return `${identifiers}${read.timestamp},${read.quantity},${read.seconds},${read.quality}\n`
}

/** Whether the text of a quantity is below 0. */
export function isBelowZero(text: string): boolean {
  return /^-.*[1-9]/.test(text)
}

/** Why generation that is below 0 is refused: with the other sign it might become consumption. */
export function belowZero(setting: string): string {
  return `generation that is below 0 leaves its sign unsure; if the file itself has signs, ${setting}`
}

/** A quantity with the other sign. */
export function negated(text: string): string {
  if (text.startsWith('-')) return text.slice(1)
  return /[1-9]/.test(text) ? `-${text}` : text
}

/** A line without reads. */
export function emptyRecord({ line, text }: SentLine): SentRecord {
  return { line, raw: text, rows: '', count: 0 }
}

/** What is known of a record that is refused. */
interface RefusedRecord extends RecordRefusal {
  readonly identifiers?: string | undefined
  /** The sum of its quantities, where they can be read. */
  readonly total?: string | undefined
  /** Where one is known, the total must be one that the row judge rejects: the row keeps its place in the repeated hour. */
  readonly timestamp?: string | undefined
}

/** A record that becomes one row, which the row judge rejects. */
export function refusedRecord(
  { line, text }: SentLine,
  { identifiers = ',,,', total = '0', timestamp = '', ...refused }: RefusedRecord,
): SentRecord {
  const read = { timestamp, quantity: total, seconds: 0, quality: '' } as const
  return { line, raw: text, rows: plainRead(identifiers, read), count: 1, refused }
}
