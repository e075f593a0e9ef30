import { Fault } from '../../../schemas/fault.js'
import type { FileTimes } from '../../../schemas/manifest.js'
import type { CsvSettings } from '../../../schemas/settings/formats/csv.js'
import type { RejectCode } from '../../../schemas/usage-row.js'
import { type Conversion, createTally, type FormatContext, type SentRecord } from '../format.js'
import { readLines, type SentLine } from '../lines.js'
import {
  belowZero,
  createInstants,
  emptyRecord,
  type Identifiers,
  isBelowZero,
  negated,
  plainIdentifiers,
  plainQuantity,
  plainRead,
  readColumnsExtra,
  refusedRecord,
} from '../plain-row.js'
import { multiplier, type Scale, sumTexts, unitScale } from '../scale.js'
import { isLeftOutLine, type MappedColumns, mapColumns, splitFields } from './columns.js'
import { createDecimals } from './decimal.js'
import { createDirections, type Direction } from './direction.js'
import { createNumbers, type NumberedTime } from './interval-numbers.js'
import { createQualities } from './quality.js'
import { createTimes, isOffset } from './times.js'
import { createWideDays } from './wide-days.js'

/**
 * CSV files whose columns the profile maps. A row has one read, or one column for each interval of a day.
 * A row needs as many columns as the header: a decimal comma that is not quoted would shift them.
 */
export function createCsv(settings: CsvSettings, context: FormatContext): Conversion {
  const { header, skipLines, columns, interval = 0, leaveOut = [] } = settings
  const { usage } = context
  const delimiter = settings.delimiter === 'tab' ? '\t' : settings.delimiter
  const { dateOrder = usage.dateOrder, clock = usage.clock, stamp = usage.stamp } = settings
  const { yearDigits } = settings
  const reader = createTimes({ clock, dateOrder, yearDigits, zone: context.zone })
  const scale = scaleOf(settings, context)
  const toDecimal = createDecimals(settings)
  const instants = createInstants()
  const identify = createIdentify()
  let mapped: MappedColumns | undefined
  let width = 0
  const tally = createTally()
  const count = (what: string, intervals: number) => {
    if (intervals > 0) tally.count(what, intervals)
  }
  const qualities = createQualities(columns.quality, count)
  const directionOf = createDirections(columns.generation, count)
  const numbering = clock === 'wall' ? settings.numbering : 'fixed'
  const { zone } = context
  const numbers = createNumbers({ zone, interval, first: settings.firstNumber ?? 1, numbering })
  const wideDay = createWideDays({ zone, interval, numbering, count })
  let leftOut = 0
  let isUnended = false
  let last: SentRecord | undefined

  const read = (at: SentLine): SentRecord => {
    if (at.line <= skipLines || at.text.trim() === '') return emptyRecord(at)
    const fields = at.isCut ? undefined : splitFields(at.text, delimiter)
    if (fields === undefined) {
      const detail = at.isCut ? 'the line is longer than limits.rowBytesMax' : 'quotes do not match'
      if (header && mapped === undefined) throw wrongHeader(at, detail)
      return refuse(at, at.isCut ? 'ROW_TOO_LONG' : 'BAD_QUOTES', detail)
    }
    if (mapped === undefined) {
      mapped = mapColumns(settings, fields, at.line)
      width = fields.length
      if (header) return emptyRecord(at)
    }
    if (isLeftOutLine(fields, leaveOut)) {
      leftOut++
      return emptyRecord(at)
    }
    const found =
      fields.length === width
        ? width
        : fields.findLastIndex((field, place) => place < width || field.trim() !== '') + 1
    if (found !== width) {
      const code = found < width ? 'TOO_FEW_COLUMNS' : 'TOO_MANY_COLUMNS'
      return refuse(at, code, `expected ${width} columns, found ${found}`)
    }
    const unexpected = mapped.unexpected(fields)
    if (unexpected !== undefined) return refuse(at, 'BAD_RECORD', unexpected)
    const direction = directionOf(fields, mapped.generation)
    const row = { at, fields, direction, mapped }
    return columns.values === undefined ? toRead(row) : toReadsOfDay(row)
  }
  const quantityOf = (field = ''): string => plainQuantity(scale(toDecimal(field.trim())))
  const timeOf = ({ fields, mapped }: MappedRow, isEmpty: boolean): NumberedTime => {
    const time = fields[mapped.time] as string
    if (mapped.intervalNumber === undefined) {
      const timeOfDay = mapped.timeOfDay === undefined ? '' : fields[mapped.timeOfDay]
      return { timestamp: reader.timestamp(time, timeOfDay) }
    }
    const day = reader.day(time)
    if (day === undefined) return { refused: noDay }
    const number = fields[mapped.intervalNumber] as string
    return numbers.read(day, { number, isEmpty })
  }
  const toRead = (row: MappedRow): SentRecord => {
    const { at, fields, direction, mapped } = row
    const sent = quantityOf(fields[mapped.value])
    const isUnsure = direction.isGeneration && isBelowZero(sent)
    const amount = direction.isGeneration && !isUnsure ? negated(sent) : sent
    const received = mapped.received === undefined ? undefined : quantityOf(fields[mapped.received])
    const isZero = received === '' && columns.received?.emptyIsZero === true
    const net = received === undefined ? amount : netOf(amount, isZero ? '0' : received)
    const quantity = net ?? ''
    const identifiers = identify(mapped, fields)
    const time = timeOf(row, quantity === '')
    if (time === 'absent') {
      count('without a value, which their day does not have: not loaded', 1)
      return emptyRecord(at)
    }
    if ('refused' in time) {
      const refusal = { code: 'NOT_A_TIME', column: '', detail: time.refused } as const
      return refusedRecord(at, { ...refusal, identifiers, total: sumTexts([quantity]) })
    }
    const quality = qualities.of(fields, mapped.quality, 1)
    if (quality === 'missing') return emptyRecord(at)
    const { timestamp } = time
    const refused = { code: 'NEGATIVE', column: '', identifiers } as const
    if (net === undefined)
      return refusedRecord(at, { ...refused, detail: negativeReceived, timestamp, total: '?' })
    if (isUnsure) return refusedRecord(at, { ...refused, detail: belowZero(ownSigns), total: net })
    direction.count(1)
    const rows = plainRead(identifiers, { timestamp, quantity, seconds: 0, quality })
    return { line: at.line, raw: at.text, rows, count: 1 }
  }
  const toReadsOfDay = ({ at, fields, direction, mapped }: MappedRow): SentRecord => {
    const identifiers = identify(mapped, fields)
    const sent = fields.slice(mapped.value, mapped.value + mapped.values).map(quantityOf)
    const isUnsure = direction.isGeneration && sent.some(isBelowZero)
    const quantities = direction.isGeneration && !isUnsure ? sent.map(negated) : sent
    const refuseDay = (code: RejectCode, detail: string) =>
      refusedRecord(at, { code, column: '', detail, identifiers, total: sumTexts(quantities) })
    const day = reader.day(fields[mapped.time] as string)
    if (day === undefined) return refuseDay('NOT_A_TIME', noDay)
    const intervals = day.seconds / interval
    const inOrder = wideDay(day, quantities)
    if ('refused' in inOrder) return refuseDay('INTERVAL_COUNT', inOrder.refused)
    const ordered = inOrder.quantities
    const texts = instants(day.start, interval, intervals)
    const present = ordered.filter((quantity) => quantity !== '').length
    const quality = qualities.of(fields, mapped.quality, present)
    count('without a value: not loaded', intervals - present)
    if (quality === 'missing') return emptyRecord(at)
    if (isUnsure) return refuseDay('NEGATIVE', belowZero(ownSigns))
    direction.count(present)
    const rows = texts.map((timestamp, index) => {
      const quantity = ordered[index] ?? ''
      return quantity === ''
        ? ''
        : plainRead(identifiers, { timestamp, quantity, seconds: interval, quality })
    })
    return { line: at.line, raw: at.text, rows: rows.join(''), count: present }
  }
  async function* records(input: AsyncIterable<Buffer>) {
    const { encoding } = settings
    const onEnd = (found: boolean) => {
      isUnended = found
    }
    const lines = readLines(input, { encoding, lineBytesMax: context.lineBytesMax, onEnd })
    for await (const batch of lines) {
      const found = batch.map(read)
      last = found.at(-1) ?? last
      yield found
    }
    if (!isCut()) numbers.judge()
    if (mapped === undefined) {
      throw new Fault('EMPTY_FILE', `the file has no line behind skipLines (${skipLines})`)
    }
  }
  const isCut = () => isUnended && last?.refused !== undefined
  const isWide = columns.values !== undefined
  const isNumbered = columns.intervalNumber !== undefined
  const times: FileTimes = isWide
    ? { dateOrder, stamp: 'start' }
    : {
        dateOrder,
        stamp: isNumbered ? 'start' : stamp,
        ...(!isOffset(clock) && { clock }),
        ...(interval && { length: interval }),
      }
  return {
    rowFormat: {
      ...{ stated: isWide, qualities: columns.quality !== undefined },
      ...{ extraColumns: readColumnsExtra, times },
    },
    records,
    ending: () => ({
      cut: isCut() ? 'its last line is incomplete; send the complete file again' : undefined,
      isUnended,
      lastRows: last?.count,
      dates: reader.dates,
      timestampFormat: reader.timestampFormat(),
      warnings: [
        ...(leftOut > 0 ? [`lines that leaveOut names, not loaded: ${leftOut}`] : []),
        ...tally.warnings('intervals'),
      ],
    }),
  }
}

const noDay = 'the column of columns.time has no day'
const ownSigns = 'leave columns.generation out'
const negativeReceived = 'with columns.received, neither quantity may be negative'

/** Energy without what was received; undefined where either is negative, so that a sign is not sure. */
function netOf(delivered: string, received: string): string | undefined {
  if (delivered === '' || received === '') return ''
  if (delivered === '?' || received === '?') return '?'
  const isNegative = [delivered, received].some(isBelowZero)
  return isNegative ? undefined : sumTexts([delivered, negated(received)])
}

interface MappedRow {
  readonly at: SentLine
  readonly fields: readonly string[]
  readonly direction: Direction
  readonly mapped: MappedColumns
}

function wrongHeader({ line }: SentLine, detail: string): Fault {
  return new Fault(
    'HEADER',
    `line ${line} is not a usable header: ${detail}; fix skipLines or the export`,
  )
}

function refuse(at: SentLine, code: RejectCode, detail: string): SentRecord {
  return refusedRecord(at, { code, column: '', detail })
}

type Identify = (mapped: MappedColumns, fields: readonly string[]) => string

/** Most rows have the identifiers of the row before. */
function createIdentify(): Identify {
  let last: Identifiers = { account: '', site: '', meter: '' }
  let text = plainIdentifiers(last)
  return ({ account, site, meter }, fields) => {
    const own = { account: account(fields), site: site(fields), meter: meter(fields) }
    const isSame =
      own.meter === last.meter && own.account === last.account && own.site === last.site
    if (!isSame) {
      last = own
      text = plainIdentifiers(own)
    }
    return text
  }
}

/** Throws `CONFIG` where the unit is none that the profile's can be made of. */
function scaleOf(settings: CsvSettings, { usage, commodity }: FormatContext): Scale {
  const stored = usage.unit[commodity]
  const { unit = stored, multiplier: factor = 1 } = settings
  const toStored = unitScale(unit, stored)
  if (toStored === undefined) {
    const detail = `usage.format.${commodity}.unit: ${unit} cannot be converted to usage.unit.${commodity}, ${stored}`
    throw new Fault('CONFIG', detail)
  }
  const times = multiplier(String(factor))
  return (text) => toStored(times(text))
}
