import type { Nem12Settings } from '../../../schemas/settings/formats/nem12.js'
import { isCalendarDay, offsetSeconds } from '../../../schemas/time/timestamp.js'
import { daySeconds } from '../../../schemas/time/zone.js'
import { type QualityLetter, qualityLetters, type RejectCode } from '../../../schemas/usage-row.js'
import { type Conversion, createTally, type FormatContext, type SentRecord } from '../format.js'
import type { SentLine } from '../lines.js'
import {
  belowZero,
  createInstants,
  emptyRecord,
  type Instants,
  isBelowZero,
  negated,
  plainIdentifiers,
  plainQuantity,
  plainRead,
  refusedRecord,
  statedReads,
} from '../plain-row.js'
import { type Scale, sumTexts, unitScale } from '../scale.js'
import { createNemFile } from './file.js'
import { nemLetter, type QualityRange, qualitiesOf, readQualityRange } from './quality.js'

/** What a 200 record says of the 300 records behind it. */
interface Channel {
  readonly register: string
  readonly identifiers: string
  readonly seconds: number
  readonly scale: Scale
  readonly isGeneration: boolean
  /** Why its reads are not loaded; undefined where they are. */
  readonly left: string | undefined
}

/** A 300 record, and the 400 records that followed it so far. */
interface PendingDay {
  readonly at: SentLine
  /** Its channel; undefined where no usable 200 record is before it. */
  readonly channel: Channel | undefined
  readonly fields: readonly string[]
  readonly later: SentLine[]
  readonly ranges: QualityRange[]
}

/** Lengths of intervals, minutes, as far as the market has them and their divisors. */
const minutesMax = 60
/** Records that belong to the 200 record before them. */
const ofChannel = ['300', '400', '500']
/** Fields of a 300 record behind its values: method, reason code, reason, and two times. */
const trailingFields = 5
/** 400 records of one 300 record: more than a day has intervals are not kept in memory. */
const rangesMax = 1_440

/**
 * Interval data of the Australian market (AEMO, Meter Data File Format, NEM12). Times are market time,
 * each read with the length that its 200 record states. A 300 record that does not fit its 200 record
 * or its 400 records is rejected as a whole: nothing says which of its values are right.
 */
export function createNem12(settings: Nem12Settings, context: FormatContext): Conversion {
  const { count, warnings } = createTally('of other registers')
  const instants = createInstants()
  let channel: Channel | undefined
  let pending: PendingDay | undefined
  const flush = (): readonly SentRecord[] => {
    const day = pending
    pending = undefined
    if (day === undefined) return []
    const offset = offsetSeconds(settings.offset)
    const record = toReads(day, { offset, count, instants })
    return [record, ...day.later.map(emptyRecord)]
  }
  const file = createNemFile({
    version: 'NEM12',
    setting: 'usage.format',
    kinds: '100, 200, 300, 400, 500 or 900',
    lineBytesMax: context.lineBytesMax,
    begin: () => {
      channel = undefined
    },
    extend: (at, fields) => {
      if (fields[0]?.trim() !== '400' || pending === undefined) return false
      if (pending.ranges.length >= rangesMax) return false
      pending.later.push(at)
      pending.ranges.push(readQualityRange(fields, at.line))
      return true
    },
    // What cannot be read may have been the 200 record of the days behind it.
    lost: (kind) => {
      if (!ofChannel.includes(kind)) channel = undefined
    },
    flush,
    read: (at, fields) => {
      const kind = fields[0]?.trim()
      if (kind === '500') return [emptyRecord(at)]
      if (kind === '300') {
        pending = { at, channel, fields, later: [], ranges: [] }
        if (channel !== undefined && hasMore(fields, channel)) channel = undefined
        return []
      }
      if (kind !== '200') return undefined
      const found = readChannel(fields, { settings, context })
      const detail = typeof found === 'string' ? found : undefined
      channel = typeof found === 'string' ? undefined : found
      if (detail === undefined) return [emptyRecord(at)]
      return [refusedRecord(at, { code: 'BAD_RECORD', column: '', detail })]
    },
    refused: refusedRecord,
  })
  return {
    rowFormat: statedReads,
    records: file.records,
    ending: () => ({ ...file.ending(), dates: [], warnings: warnings('intervals') }),
  }
}

/** The channel of a 200 record, or why it is not usable. */
function readChannel(
  fields: readonly string[],
  { settings, context }: { readonly settings: Nem12Settings; readonly context: FormatContext },
): Channel | string {
  const [, nmi = '', , , suffix = '', , serial = '', unit = '', length = ''] = fields.map((field) =>
    field.trim(),
  )
  const minutes = Number(length)
  if (!/^\d{1,2}$/.test(length) || minutes === 0 || minutesMax % minutes !== 0) {
    return `IntervalLength must be minutes that divide an hour, found ${JSON.stringify(length.slice(0, 20))}`
  }
  if (`${nmi}${suffix}${serial}`.includes('"')) {
    return 'NMI, suffix and serial number must not have quotes'
  }
  const register = suffix.toUpperCase()
  const fill = (template: string) =>
    template
      .replaceAll('{nmi}', nmi)
      .replaceAll('{register}', register)
      .replaceAll('{serial}', serial)
  const identifiers = plainIdentifiers({
    account: fill(settings.account),
    site: fill(settings.site),
    meter: fill(settings.meter),
  })
  const stored = context.usage.unit[context.commodity]
  const scale = unitScale(unit, stored)
  const isEnergy = /^[EB]/.test(register)
  if (scale === undefined && isEnergy) {
    return `UOM of register ${register} must be a unit that ${stored} can be made of, found ${JSON.stringify(unit.slice(0, 20))}`
  }
  const isWanted = settings.registers?.includes(register) ?? isEnergy
  const shown = `${register.slice(0, 20) || 'without suffix'} (${unit.slice(0, 20) || 'no unit'})`
  return {
    register,
    identifiers,
    seconds: minutes * 60,
    scale: scale ?? ((text) => text),
    isGeneration: register.startsWith('B') && settings.generation === 'negative',
    left: isWanted && scale !== undefined ? undefined : `of register ${shown}`,
  }
}

interface ReadingDay {
  readonly offset: number
  readonly instants: Instants
  /** Called with the number of intervals that are left out, or are worth a note, and what they are. */
  readonly count: (what: string, intervals: number) => void
}

/** The reads of a 300 record; a refused one has the sum of its values. */
function toReads(
  { at, channel, fields, ranges }: PendingDay,
  { offset, count, instants }: ReadingDay,
): SentRecord {
  const refuse = (code: RejectCode, detail: string) => {
    const values = fields.slice(2, 2 + Math.max(0, firstQuality(fields))).map((one) => one.trim())
    const { identifiers, scale = (text: string) => text } = channel ?? {}
    const total = scale(sumTexts(values))
    return refusedRecord(at, { code, column: '', detail, identifiers, total })
  }
  if (channel === undefined) return refuse('BAD_RECORD', 'no usable 200 record is before it')
  const { seconds, scale, isGeneration, identifiers } = channel
  const intervals = daySeconds / seconds
  const found = firstQuality(fields)
  if (found !== intervals) {
    const values = found === -1 ? 'none with a quality method behind them' : found
    const detail = `intervals of ${seconds / 60} minutes need ${intervals} values, found ${values}`
    return refuse('INTERVAL_COUNT', detail)
  }
  if (hasMore(fields, channel)) {
    return refuse('BAD_RECORD', 'another record follows on the same line')
  }
  if (channel.left !== undefined) {
    count(`${channel.left}: not loaded`, intervals)
    return emptyRecord(at)
  }
  const start = readDate(fields[1] ?? '', offset)
  if (start === undefined) return refuse('NOT_A_TIME', 'IntervalDate is not a day YYYYMMDD')
  const method = fields[2 + intervals]?.trim() ?? ''
  const qualities = qualitiesOf(method, ranges, intervals)
  if (typeof qualities === 'string') return refuse('BAD_RECORD', qualities)
  const texts = instants(start, seconds, intervals)
  const rows: string[] = []
  const letters = qualities.map(nemLetter)
  for (const [index, quality] of qualities.entries()) {
    if (quality === 'N') continue
    const value = plainQuantity(scale((fields[2 + index] as string).trim()))
    if (isGeneration && isBelowZero(value)) {
      return refuse('NEGATIVE', belowZero('set generation: positive'))
    }
    const quantity = isGeneration ? negated(value) : value
    const timestamp = texts[index] as string
    const letter = letters[index] as QualityLetter
    rows.push(plainRead(identifiers, { timestamp, quantity, seconds, quality: letter }))
  }
  for (const [letter, name] of Object.entries(qualityLetters)) {
    const found = letters.filter((one) => one === letter).length
    if (found > 0) count(`${name} by the sender: loaded`, found)
  }
  if (rows.length < intervals)
    count('without data (quality N): not loaded', intervals - rows.length)
  if (isGeneration)
    count(`of register ${channel.register} (generation): loaded as negative`, rows.length)
  return { line: at.line, raw: at.text, rows: rows.join(''), count: rows.length }
}

/** Whether something is behind a 300 record on its line: its line end is lost, and maybe a 200 record with it. */
function hasMore(fields: readonly string[], { seconds }: Channel): boolean {
  const own = 2 + daySeconds / seconds + trailingFields
  return fields.slice(own).some((field) => field.trim() !== '')
}

/** How many values are before the quality method of a 300 record; -1 where it has none. */
function firstQuality(fields: readonly string[]): number {
  const at = fields.findIndex((field, index) => index > 1 && /^[A-Z]/i.test(field.trim()))
  return at === -1 ? -1 : at - 2
}

/** When a day `YYYYMMDD` starts at an offset in seconds, epoch seconds; undefined for any other text. */
function readDate(text: string, offset: number): number | undefined {
  const found = /^(\d{4})(\d\d)(\d\d)$/.exec(text.trim())
  if (found === null) return undefined
  const [year, month, day] = found.slice(1).map(Number) as [number, number, number]
  if (!isCalendarDay(year, month, day)) return undefined
  return Date.UTC(year, month - 1, day) / 1_000 - offset
}
