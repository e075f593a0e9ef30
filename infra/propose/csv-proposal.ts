import { isLeftOutLine } from '../../pipeline/formats/csv/columns.js'
import { type Column, toColumns, toReference } from './columns.js'
import type { ProposedFeed } from './feeds.js'
import type { Findings } from './finding.js'
import { columnsFor, findIdentifiers, isDirections } from './identifiers.js'
import { findQuality } from './quality.js'
import {
  findDecimal,
  findMultiplier,
  findQuantity,
  findReceived,
  findThousands,
  findUnit,
  isOfMultipliers,
  isRegister,
  statedBy,
} from './quantities.js'
import type { SentSample } from './sample.js'
import { type Table, toOneTable, totalsWord } from './table.js'
import { findTimes, nameOf } from './times/columns.js'
import {
  decideTimes,
  decideYear,
  orderOf,
  type ProposalContext,
  placesOf,
  toSeries,
} from './times/settings.js'
import { findLength, meterLengths } from './times/times.js'
import { decideWide } from './wide.js'
import { columnWords, generationTexts, unitTexts } from './words.js'

/** Facts of the rows that are not settings of the format. */
export interface CsvFacts {
  /** The lengths of intervals, seconds; one where all meters have the same. */
  readonly lengths: readonly number[]
  /** Data rows of the samples. */
  readonly rows: number
  /** The unit that the samples state or that was answered. */
  readonly unit: unknown
  /** Words that may say what is measured. */
  readonly text: string
  /** The feed, where the format has only one. */
  readonly feed?: ProposedFeed
}

/** Finds the mapping of CSV files of one layout. Throws `HEADER` and `NO_ROWS`; see `toTable`. */
export function proposeCsv(samples: readonly SentSample[], options: ProposalContext): CsvFacts {
  const { findings } = options
  const table = toOneTable(samples)
  const columns = toColumns(table)
  describeTable(samples, table, findings)
  const wide = decideWide(columns, findings)
  const values = wide === undefined ? [] : columns.slice(wide.from.at, wide.from.at + wide.count)
  const own = columns.filter((one) => !values.includes(one))
  const reference = {
    to: (column: Column) => toReference(column, columns),
    from: (value: unknown) => columnsFor(value ?? undefined, columns)?.[0],
  }
  const { rows } = table
  const times = findTimes({ columns: own, rows, isWide: wide !== undefined }, findings, reference)
  const taken = new Set([...values, ...columns.filter(isOfTime), ...placesOf(times)])
  const quantity = wide ? undefined : findQuantity(own, taken, findings)
  const amount = wide === undefined ? reference.from(quantity) : undefined
  const received = findReceived({ columns: own, taken, quantity: amount }, findings)
  findGeneration(own, findings)
  const known = {
    columns: own,
    rows,
    quantity: amount,
    times: placesOf(times),
    taken: new Set([...taken, ...(amount ? [amount] : []), ...(received ? [received] : [])]),
  }
  const meter = findIdentifiers(known, findings)
  const amounts = wide === undefined ? (amount ? [amount] : []) : values
  const texts = [...amounts, ...(received ? [received] : [])].flatMap((one) => one.texts)
  if (texts.length > 0) {
    const decimal = findings.decide('decimal', findDecimal(texts, table.delimiter))
    findings.decide('thousands', findThousands(texts, decimal))
  }
  if (times !== undefined && table.yearDigits === 2) decideYear(samples, times, findings)
  const order = times === undefined ? 'MDY' : orderOf(samples, times, findings)
  const series = times === undefined ? [] : toSeries(table, { times, meter, order })
  const length = wide?.interval ?? times?.length ?? findLength(series)
  if (times === undefined) options.zoneBy('no file states it')
  else decideTimes({ times, series, wide, length, rows, order }, options)
  if (texts.length > 0)
    decideUnit({ own, columns, amounts, texts, length, preamble: table.preamble }, findings)
  if (amount !== undefined) refuseRegister(table, { amount, meter, findings })
  findQuality(own, known.taken, findings)
  if (meter !== undefined) noteUnread(own, columns, findings)
  const lengths = length === undefined ? meterLengths(series) : [length]
  const unit = findings.all.find(({ setting }) => setting === 'unit')?.value
  const text = [...columns.map(({ word }) => word), ...table.preamble].join(' ')
  return { lengths, rows: table.rows.length, unit, text }
}

function describeTable(samples: readonly SentSample[], table: Table, findings: Findings): void {
  const { delimiter, skipLines, header, width, rows, others } = table
  const [sample] = samples as [SentSample]
  const isForeign = (text: string) => /[^\x20-\x7e\t]/.test(text)
  const inRows = sample.encoding === 'windows-1252' && rows.some((row) => row.some(isForeign))
  findings.decide('encoding', {
    ...(!inRows && { value: sample.encoding }),
    evidence: sample.encodingEvidence,
    question:
      'rows have characters that are not UTF-8: is the file windows-1252? Otherwise export it as utf-8',
  })
  findings.decide('delimiter', {
    value: delimiter,
    evidence: `${rows.length} of ${rows.length + others.length} lines behind the header have ${width} columns`,
  })
  if (skipLines > 0) {
    const evidence = `lines above the ${header ? 'header' : 'first row'}`
    findings.decide('skipLines', { value: skipLines, evidence })
  }
  const evidence = header ? 'the line above the first row has names' : 'the first line is a row'
  findings.decide('header', { value: header !== undefined, evidence })
  const [first, ...more] = table.totals
  const words = new Set(table.totals.flatMap((one) => totalsWord(one) ?? []))
  const leaveOut = findings.decide('leaveOut', {
    ...(first && { value: [...words] }),
    evidence: `line ${first?.line}${more.length > 0 ? ` and ${more.length} more` : ''} has totals and no time`,
  })
  const texts = [leaveOut ?? []].flat().map(String)
  const rejected = others.filter(({ fields = [] }) => !isLeftOutLine(fields, texts))
  const [odd] = rejected
  if (odd !== undefined) {
    const remedy = 'to leave such lines out, add --answer leaveOut=[TEXT] with their first word'
    findings.note(
      `${rejected.length} lines have other columns and will be rejected, the first is line ${odd.line}; ${remedy}`,
    )
  }
}

/** Names the columns that no setting reads: the account may be one of them. */
function noteUnread(
  own: readonly Column[],
  columns: readonly Column[],
  { all, note }: Findings,
): void {
  const mapped = all.filter(({ setting }) => setting.startsWith('columns.'))
  const references = mapped.flatMap(({ value }) =>
    [value ?? []].flat().map((one) => (isColumnOption(one) ? one.column : one)),
  )
  const read = columnsFor(references, columns) ?? []
  const unread = own.filter((one) => !read.includes(one) && one.kind !== 'empty').map(nameOf)
  if (unread.length === 0) return
  const more = unread.length > namedMax ? ` and ${unread.length - namedMax} more` : ''
  note(`columns that are not read: ${unread.slice(0, namedMax).join(', ')}${more}`)
  if (mapped.some(({ setting }) => setting === 'columns.account')) return
  note(
    'account and meter are the same: no column is named like an account; if one has it, add --answer columns.account=NAME',
  )
}

function isColumnOption(value: unknown): value is { readonly column: unknown } {
  return typeof value === 'object' && value !== null && 'column' in value
}

const namedMax = 10

function isOfTime({ kind }: Column): boolean {
  return kind === 'time' || kind === 'date' || kind === 'clock'
}

function findGeneration(columns: readonly Column[], findings: Findings): void {
  const small = columns.filter(isOfFewCodes)
  const named = small.filter(({ word }) => columnWords.direction.test(word))
  const column =
    named.find(isDirections) ??
    small.find(hasGeneration) ??
    named.find(({ word }) => /direction|flow|richtung|surplus/.test(word)) ??
    // A channel may be one of generation, whatever its name is.
    named.find(({ texts }) => texts.length > 1)
  if (column === undefined) {
    findings.decide('columns.generation', { evidence: 'no column shows a direction' })
    return
  }
  const reference = toReference(column, columns)
  const texts = column.texts.filter((text) => generationTexts.test(text))
  const question = `which texts of ${nameOf(column)} are energy to the grid? Answer {column: ${JSON.stringify(reference)}, is: [TEXT]}, or none`
  const evidence = `${nameOf(column)} has ${column.texts.join(', ')}`
  const isSure = isDirections(column) && texts.length > 0
  findings.decide('columns.generation', {
    ...(isSure && { value: { column: reference, is: texts } }),
    evidence,
    question,
  })
}

/** More texts are not directions. */
const directionsMax = 6

/** Numbers of channels are codes; quantities are not. */
function isOfFewCodes({ kind, texts, word }: Column): boolean {
  if (texts.length > directionsMax || columnWords.energy.test(word)) return false
  return kind === 'text' || (kind === 'number' && texts.every((text) => /^\d{1,4}$/.test(text)))
}

/** Whether all texts are directions, and one is a word for generation: letters mean many things. */
function hasGeneration({ texts }: Column): boolean {
  return (
    isDirections({ texts }) && texts.some((text) => text.length > 2 && generationTexts.test(text))
  )
}

interface UnitFacts {
  readonly own: readonly Column[]
  /** Those of a wide row too. */
  readonly columns: readonly Column[]
  readonly amounts: readonly Column[]
  readonly texts: readonly string[]
  readonly length: number | undefined
  readonly preamble: readonly string[]
}

function decideUnit(
  { own, columns, amounts, texts, length, preamble }: UnitFacts,
  findings: Findings,
): void {
  const column = own.find(isOfUnits)
  const names = amounts.slice(0, 1).map(({ name }) => name)
  const shown = findUnit({ column, names, values: texts, length, preamble })
  const unit = findings.decide('unit', shown)
  if (unit !== undefined && statedBy(column).length > 1)
    findings.note(`${shown.evidence}: the quantities of all are loaded as ${unit ?? 'one unit'}`)
  const multiplier = findMultiplier(own, shown.multiplier)
  findings.decide('multiplier', multiplier)
  const constant = [
    ...(column && statedBy(column).every((text) => text in unitTexts) ? [column] : []),
    ...own.filter(isOfMultipliers),
  ].filter((one) => statedBy(one).length === 1)
  findings.decide('columns.expected', {
    ...(constant.length > 0 && { value: constant.map((one) => toExpected(one, columns)) }),
    evidence: `${constant.map(nameOf).join(' and ')} has one text; rows with another are rejected`,
  })
}

function toExpected(one: Column, columns: readonly Column[]) {
  return {
    column: toReference(one, columns),
    is: [...one.texts, ...(one.isAlwaysThere ? [] : [''])],
  }
}

function isOfUnits({ name, word, kind, texts }: Column): boolean {
  if (kind !== 'text' || columnWords.meter.test(word)) return false
  const isUnit = (text: string) => text.toLowerCase() in unitTexts
  return name === '' ? texts.every(isUnit) : columnWords.unit.test(word)
}

function refuseRegister(
  { rows }: Table,
  {
    amount,
    meter = [],
    findings,
  }: { amount: Column; meter: readonly Column[] | undefined; findings: Findings },
): void {
  const byMeter = new Map<string, number[]>()
  for (const row of rows) {
    const key = meter.map(({ at }) => row[at]).join('\0')
    const value = Number((row[amount.at] as string).replace(',', '.'))
    if (!Number.isFinite(value)) continue
    const values = byMeter.get(key)
    if (values === undefined) byMeter.set(key, [value])
    else values.push(value)
  }
  if (!isRegister([...byMeter.values()])) return
  findings.decide('isRegister', {
    evidence: `${nameOf(amount)} never falls`,
    question:
      'are these readings of a register? They are not quantities of intervals: export the differences. Otherwise answer none',
  })
}
