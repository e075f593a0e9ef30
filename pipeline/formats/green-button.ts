import { Fault } from '../../schemas/fault.js'
import type { GreenButtonSettings } from '../../schemas/settings/formats/green-button.js'
import { rememberTimes } from '../../schemas/time/remember.js'
import { daySeconds, fromWallSeconds, nextDay, toDay, type Zone } from '../../schemas/time/zone.js'
import { qualityOf, type RejectCode } from '../../schemas/usage-row.js'
import {
  createSeries,
  type EspiContext,
  type EspiEntry,
  espiLetter,
  forecast,
  type SentSeries,
} from './espi-series.js'
import { type Conversion, createTally, type FormatContext, type SentRecord } from './format.js'
import { createDecoder, inPieces, type SentLine } from './lines.js'
import {
  belowZero,
  emptyRecord,
  isBelowZero,
  negated,
  plainQuantity,
  plainRead,
  refusedRecord,
  statedReads,
  toInstantText,
} from './plain-row.js'
import { createTagReader, type XmlTag } from './xml-tags.js'

/** An IntervalReading as it is written. */
export interface SentReading {
  readonly at: SentLine
  readonly start: string
  readonly duration: string
  readonly value: string
  /** None where it has that of its ReadingType. */
  readonly qualities: readonly string[]
  readonly cost: string
}

/** Makes the record of a reading; its series is undefined where the file has no ReadingType of it. */
export type ToRecord = (sent: SentReading, series: SentSeries | undefined) => SentRecord

/** Readings that wait for their ReadingType, which may come behind them. */
const heldMax = 100_000
const heldSeriesMax = 1_000
/** The longest interval below a day. */
export const longestSeconds = 3_600
/** Elements that are looked at: of a ReadingType, and in one entry. */
const partsMax = 100
const readingParts: readonly string[] = ['start', 'duration', 'value', 'quality', 'cost']
const valueCharactersMax = 40
/** Different starts that are remembered as text. */
const timesMax = 10_000
const summaries = ['UsageSummary', 'ElectricPowerUsageSummary'] as const

/**
 * Green Button files (ESPI, in an Atom feed): the intervals of a day at most of each MeterReading, at
 * instants, each with the length that it states. Longer periods are counted, and not loaded.
 */
export function createGreenButton(
  settings: GreenButtonSettings,
  context: FormatContext,
): Conversion {
  const open = (count: (what: string) => void) =>
    createToRead({ ...context, dayStart: settings.dayStart }, count)
  const file = createEspiFile(settings, context, open)
  return {
    rowFormat: statedReads,
    records: file.records,
    ending: () => ({ ...file.ending('intervals'), dates: [] }),
  }
}

/** A Green Button file whose readings become records, each once its ReadingType is known. */
export function createEspiFile(
  settings: GreenButtonSettings,
  context: EspiContext,
  open: (count: (what: string) => void) => ToRecord,
) {
  const reader = createTagReader(context.lineBytesMax)
  const series = createSeries(settings, context)
  const tally = createTally()
  const toRecord = open(tally.count)
  const held = new Map<string, SentReading[]>()
  let heldCount = 0
  const records: SentRecord[] = []
  let entry = blankEntry()
  /** The names of what is in its content. */
  let parts = new Set<string>()
  let type = new Map<string, string>()
  let service = ''
  let reading: Record<string, string> = {}
  let line = 0
  let bills = 0
  const path: string[] = []
  const hold = (address: string, one: SentReading) => {
    const waiting = held.get(address) ?? []
    if (++heldCount > heldMax || (waiting.length === 0 && held.size >= heldSeriesMax)) {
      const detail = `line ${one.at.line}: too many readings before the ReadingType of their MeterReading; put it before them`
      throw new Fault('HEADER', detail)
    }
    waiting.push(one)
    held.set(address, waiting)
  }
  const addReading = (one: SentReading) => {
    const address = meterReadingOf(entry)
    const known = series.find(address)
    if (known === undefined) hold(address, one)
    else records.push(toRecord(one, known))
  }
  const refuseReading = (one: SentReading) => void records.push(toRecord(one, undefined))
  const release = (address: string, each: (one: SentReading) => void) => {
    const waiting = held.get(address) ?? []
    held.delete(address)
    heldCount -= waiting.length
    waiting.forEach(each)
  }
  /** Its links may be behind its content. */
  const endEntry = () => {
    if (parts.has('UsagePoint')) series.addPoint(entry, service)
    if (parts.has('MeterReading')) series.addReading(entry)
    if (parts.has('ReadingType')) series.addType(entry, type)
    for (const one of summaries) if (parts.has(one)) bills++
    // Only its own links say whose they are: without any they are nobody's.
    release('', meterReadingOf(entry) === '' ? refuseReading : addReading)
    if (!parts.has('MeterReading') && !parts.has('ReadingType')) return
    for (const address of [...held.keys()]) {
      const known = series.find(address)
      if (known !== undefined) release(address, (one) => records.push(toRecord(one, known)))
    }
  }
  const start = ({ name, attributes, line: at }: XmlTag) => {
    path.push(name)
    if (name === 'entry') [entry, parts, service] = [blankEntry(), new Set(), '']
    if (name === 'ReadingType') type = new Map()
    if (name === 'IntervalReading') [reading, line] = [{}, at]
    if (name !== 'link') return
    const href = (attributes['href'] ?? '').replace(/\/$/, '')
    const { rel } = attributes
    if (rel === 'self' || rel === 'up') entry = { ...entry, [rel]: href }
    if (rel === 'related') entry = { ...entry, related: [...entry.related, href].slice(-100) }
  }
  const end = ({ name, text }: XmlTag) => {
    path.pop()
    const parent = path.at(-1)
    if (parent === 'ReadingType' && type.size < partsMax) type.set(name, text.trim())
    if (parent === 'ServiceCategory' && name === 'kind') service = text.trim()
    if (readingParts.includes(name) && path.includes('IntervalReading')) {
      const before = name === 'quality' ? reading[name] : undefined
      const all = [before, text.trim()].filter(Boolean).join(' ')
      reading[name] = all.slice(0, valueCharactersMax)
    }
    if (name === 'IntervalReading') {
      addReading(toReading(line, reading))
    }
    if (parent === 'content' && parts.size < partsMax) parts.add(name)
    if (name === 'entry') endEntry()
  }
  async function* read(input: AsyncIterable<Buffer>) {
    const decode = createDecoder('utf-8', reader.line)
    let hasText = false
    const take = (bytes?: Buffer) => {
      const text = decode(bytes)
      hasText ||= text.trim() !== ''
      for (const tag of reader.read(text)) {
        if (tag.kind === 'start') start(tag)
        else end(tag)
      }
      return records.splice(0)
    }
    for await (const bytes of inPieces(input)) yield take(bytes)
    yield take()
    if (!hasText) throw new Fault('EMPTY_FILE', 'the file has no element; export it again')
    if (!reader.hasRoot()) {
      const detail =
        'the file has no element; set usage.format, or files.format, to the format of the file'
      throw new Fault('HEADER', detail)
    }
    for (const address of [...held.keys()]) {
      release(address, refuseReading)
    }
    yield records.splice(0)
  }
  return {
    records: read,
    ending: (things: 'intervals' | 'periods') => ({
      cut: reader.isCut()
        ? 'the file ends inside of an element; send the complete file again'
        : undefined,
      isUnended: false,
      warnings: [
        ...tally.warnings(things),
        ...(bills > 0 ? [`bills (UsageSummary): not loaded: ${bills}`] : []),
      ],
    }),
  }
}

function toReading(line: number, parts: Readonly<Record<string, string>>): SentReading {
  const { start = '', duration = '', value = '', quality = '', cost = '' } = parts
  const text = `<value>${value}</value><start>${start}</start><duration>${duration}</duration>`
  const at = { line, text, isCut: false }
  return { at, start, duration, value, qualities: quality.split(' ').filter(Boolean), cost }
}

function blankEntry(): EspiEntry {
  return { self: '', up: '', related: [] }
}

/** The address of the MeterReading that an entry with IntervalBlocks belongs to. */
function meterReadingOf({ self, up }: EspiEntry): string {
  return (up || self).replace(/\/IntervalBlock(\/[^/]*)?$/, '')
}

type ReadContext = FormatContext & Pick<GreenButtonSettings, 'dayStart'>

/** Makes plain rows of readings; a meter has one series of a length. */
function createToRead(context: ReadContext, count: (what: string) => void): ToRecord {
  const owners = new Map<string, SentSeries>()
  const instantOf = rememberTimes((start) => toInstantText(Number(start)), { timesMax })
  return ({ at, start, duration, value, ...sent }, series) => {
    const isNumber = /^-?\d{1,18}$/.test(value)
    const refuse = (detail: string, code: RejectCode = 'BAD_RECORD') => {
      const total = isNumber && series ? series.scale(value) : '0'
      const { identifiers } = series ?? {}
      return refusedRecord(at, { code, column: '', detail, identifiers, total })
    }
    const leave = (what: string) => {
      count(`${what}: not loaded`)
      return emptyRecord(at)
    }
    if (series === undefined) return refuse('no ReadingType of its MeterReading is in the file')
    if (series.left !== undefined) return leave(series.left)
    if (!/^\d{1,10}$/.test(start)) return refuse('its timePeriod has no start in seconds')
    const seconds = duration === '' ? series.seconds : Number(/^\d{1,9}$/.exec(duration)?.[0] ?? 0)
    const from = Number(start)
    const length = lengthOf(from, seconds, context)
    if (length === 'period') return leave('longer than a day (send them as Billing)')
    if (typeof length === 'string') return refuse(length)
    if (series.refused !== undefined) return refuse(series.refused)
    const qualities = sent.qualities.length > 0 ? sent.qualities : series.qualities
    if (qualities.includes(forecast)) return leave('of quality 12 (projected)')
    const key = `${series.meter} ${length}`
    const owner = owners.get(key) ?? series
    if (owner !== series)
      return refuse('two series would be one meter: use {flow} or {meterReading} in it')
    owners.set(key, series)
    const found = plainQuantity(isNumber ? series.scale(value) : '?')
    if (series.isGeneration && isBelowZero(found)) {
      return refuse(belowZero('set generation: positive'), 'NEGATIVE')
    }
    const letter = espiLetter(qualities)
    if (letter !== '') count(`${qualityOf(letter)} by the sender: loaded`)
    if (series.isGeneration) count('of reverse flow (generation): loaded as negative')
    const row = plainRead(series.identifiers, {
      timestamp: instantOf(start),
      quantity: series.isGeneration ? negated(found) : found,
      seconds: length,
      quality: letter,
    })
    return { line: at.line, raw: at.text, rows: row, count: 1 }
  }
}

/** The first instant of a day at which the clock shows a time, epoch seconds; undefined where it is skipped. */
function timeOn(zone: Zone, day: string, time: string): number | undefined {
  if (time === '00:00') return zone.dayStart(day)
  return zone.toInstants(fromWallSeconds(Date.parse(`${day}T${time}Z`) / 1_000))[0]
}

/** The length of a read, seconds; a local day is one of 86,400. Else why there is none. */
function lengthOf(
  start: number,
  seconds: number,
  { zone, dayStart }: ReadContext,
): number | string {
  if (seconds >= 60 && longestSeconds % seconds === 0) return seconds
  const day = toDay(zone.toWall(start))
  const startOf = (one: string) => timeOn(zone, one, dayStart)
  if (startOf(day) === start && startOf(nextDay(day)) === start + seconds) return daySeconds
  if (seconds > daySeconds + longestSeconds) return 'period'
  return `a duration of ${seconds} seconds is not one that divides an hour, nor a day from ${dayStart} to ${dayStart} of timeZone (dayStart)`
}
