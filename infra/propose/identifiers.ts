import { normalTime } from '../../pipeline/formats/csv/times.js'
import { rememberTimes } from '../../schemas/time/remember.js'
import { type Column, toReference } from './columns.js'
import type { Findings } from './finding.js'
import { nameOf } from './times/columns.js'
import { columnWords, consumptionTexts, generationTexts } from './words.js'

type Rows = readonly (readonly string[])[]

/** What is known of the rows before meters are looked for. */
export interface MeterQuestion {
  readonly columns: readonly Column[]
  readonly rows: Rows
  /** The columns of the time, and of the quantity where there is only one. */
  readonly times: readonly Column[]
  readonly quantity: Column | undefined
  /** Columns that are taken for something else. */
  readonly taken: ReadonlySet<Column>
}

/** Finds the columns that identify meter, account and site. Returns those of the meter, once decided. */
export function findIdentifiers(
  question: MeterQuestion,
  findings: Findings,
): readonly Column[] | undefined {
  const { columns } = question
  const free = columns.filter((one) => !question.taken.has(one) && one.kind !== 'empty')
  const meters = toGroups(matching(free, columnWords.meter), question.rows)
  const reference = (one: Column) => toReference(one, columns)
  const [first] = meters
  const others = free.filter(isIdentifier)
  const suggested = others.map(nameOf).join(' or ')
  const asked =
    suggested === ''
      ? 'no column identifies the meter: answer { constant: TEXT }'
      : `which column is the permanent meter: ${suggested}?`
  const isUnnamed = columns.every(({ name }) => name === '')
  const only =
    meters.length === 1 ? first : isUnnamed && others.length === 1 ? others[0] : undefined
  const splitter = only === undefined ? undefined : findSplitter(question, [only])
  const clash = only === undefined ? undefined : clashOf(question, [only], splitter)
  const value =
    only && (splitter?.isDirection ? [only, splitter.column].map(reference) : reference(only))
  const decided = findings.decide('columns.meter', {
    ...(clash === undefined && { value }),
    evidence: clash?.evidence ?? evidenceOf(only, splitter),
    question: clash?.question ?? asked,
  })
  findings.decide('columns.account', optional(matching(free, columnWords.account), question))
  findings.decide('columns.site', optional(matching(free, columnWords.site), question))
  const chosen = columnsFor(decided, columns)
  if (chosen !== undefined && decided !== value) noteClashes(question, chosen, findings)
  return chosen
}

/** Says what an answer loses. */
function noteClashes(question: MeterQuestion, meter: readonly Column[], { note }: Findings): void {
  const found = clashes(question, meter)
  if (found > 0) note(`${clashText(found)}: the last one counts, the others are not loaded`)
}

function clashText(found: number): string {
  return `${found} rows have the meter and time of another row, and another quantity`
}

function evidenceOf(only: Column | undefined, splitter: Splitter | undefined): string {
  if (only === undefined) return 'several columns, or none, are named like a meter'
  const one = only.name === '' ? 'the only column of identifiers' : 'its name'
  if (splitter === undefined) return one
  return `${one}; a meter has rows of each ${nameOf(splitter.column)} at one time`
}

/** The columns of an answer or a value. */
export function columnsFor(
  value: unknown,
  columns: readonly Column[],
): readonly Column[] | undefined {
  if (value === undefined) return undefined
  const references = [value].flat()
  const found = references.map((one) =>
    typeof one === 'number'
      ? columns[one - 1]
      : columns.find(({ name }) => name.toLowerCase() === String(one).trim().toLowerCase()),
  )
  return found.filter((one) => one !== undefined)
}

/** Columns of one meaning that are compared with each other. */
const namedMax = 10

function matching(columns: readonly Column[], pattern: RegExp): readonly Column[] {
  const named = columns.filter(
    ({ word, kind }) => kind !== 'clock' && kind !== 'time' && pattern.test(word),
  )
  return named.slice(0, namedMax)
}

const identifierLengthMax = 64

function isIdentifier({ kind, texts, word }: Column): boolean {
  if (kind !== 'text' && kind !== 'number') return false
  const isLong = texts.some((text) => text.length > identifierLengthMax)
  const isFlag = [columnWords.quality, columnWords.direction, columnWords.unit].some((pattern) =>
    pattern.test(word),
  )
  return !isLong && !isFlag && texts.every((text) => !/\d[.,]\d/.test(text))
}

/** One column of each group that names the same things in other columnWords. */
function toGroups(columns: readonly Column[], rows: Rows): readonly Column[] {
  const kept: Column[] = []
  for (const column of columns) {
    if (!kept.some((one) => isOneToOne(one, column, rows))) kept.push(column)
  }
  return kept
}

function isOneToOne(one: Column, other: Column, rows: Rows): boolean {
  const pairs = new Set(rows.map((row) => `${row[one.at]}\0${row[other.at]}`))
  return pairs.size === one.texts.length && pairs.size === other.texts.length
}

function optional(found: readonly Column[], { columns, rows }: MeterQuestion) {
  const groups = toGroups(found, rows)
  const [first] = groups
  const evidence = 'its name'
  if (groups.length < 2) return { value: first && toReference(first, columns), evidence }
  return { evidence, question: `which column: ${groups.map(nameOf).join(' or ')}?` }
}

interface Splitter {
  readonly column: Column
  /** Whether its texts are known to be directions of energy. */
  readonly isDirection: boolean
}

const seriesMax = 20

/**
 * How many rows have the meter and time of another one, and another quantity. The hour that a clock repeats
 * once a year is not counted.
 */
function clashes({ rows, times, quantity }: MeterQuestion, meter: readonly Column[]): number {
  const seen = new Map<string, string>()
  const days = new Set<string>()
  const clashing = new Set<string>()
  const daysClashing = new Set<string>()
  const [date] = times
  const dayOf = rememberTimes((text) => normalTime(text).split(/[ T]/)[0] as string, { timesMax })
  let found = 0
  for (const row of rows) {
    const time = times.map(({ at }) => row[at]).join(' ')
    const day = date === undefined ? '' : dayOf(row[date.at] as string)
    days.add(day)
    const key = `${meter.map(({ at }) => row[at]).join('\0')}\0${time}`
    const value = quantity === undefined ? row.join('\0') : (row[quantity.at] as string)
    const before = seen.get(key)
    if (before === undefined) seen.set(key, value)
    else if (before !== value) {
      found++
      clashing.add(time)
      daysClashing.add(day)
    }
  }
  const isHour =
    clashing.size <= daysClashing.size * timesOfHourMax && found <= rows.length * hourShareMax
  return isHour && daysClashing.size <= Math.ceil(days.size / daysApartMin) ? 0 : found
}

/** Intervals of 5 minutes in an hour; that hour is a small part of a file; clocks are set back once a year. */
const timesOfHourMax = 12
const hourShareMax = 1 / 8
const daysApartMin = 300
const timesMax = 10_000

/** The column that keeps apart the rows of one meter and time. */
function findSplitter(question: MeterQuestion, meter: readonly Column[]): Splitter | undefined {
  if (clashes(question, meter) === 0) return undefined
  const small = question.columns.filter(
    (one) =>
      !meter.includes(one) &&
      !question.times.includes(one) &&
      one !== question.quantity &&
      one.texts.length > 1 &&
      one.texts.length <= seriesMax,
  )
  const column = small.find((one) => clashes(question, [...meter, one]) === 0)
  return column && { column, isDirection: isDirections(column) }
}

export function isDirections({ texts }: Pick<Column, 'texts'>): boolean {
  return texts.every((text) => generationTexts.test(text) || consumptionTexts.test(text))
}

/** Why rows of one meter and time cannot be loaded yet. */
function clashOf(
  question: MeterQuestion,
  meter: readonly Column[],
  splitter: Splitter | undefined,
): { readonly evidence: string; readonly question: string } | undefined {
  if (splitter?.isDirection) return undefined
  if (splitter !== undefined) {
    const { column } = splitter
    const texts = column.texts.slice(0, 5).join(', ')
    const both = [...meter, column].map((one) => toReference(one, question.columns)).join(', ')
    return {
      evidence: `rows of one meter and time differ in ${nameOf(column)}: ${texts}`,
      question: `are these series of their own? Then answer [${both}]; or remove the rows of the others from the export`,
    }
  }
  const found = clashes(question, meter)
  if (found === 0) return undefined
  return {
    evidence: clashText(found),
    question:
      'which columns distinguish them? Answer a list of columns, or the meter alone: then the last row counts',
  }
}
