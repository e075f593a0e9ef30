import type { Nem13Settings } from '../../../schemas/settings/formats/nem13.js'
import { isCalendarDay, offsetSeconds } from '../../../schemas/time/timestamp.js'
import type { RejectCode } from '../../../schemas/usage-row.js'
import { daysBetween, periodRow, refusedPeriod } from '../billed/period.js'
import { type BilledContext, type Conversion, createTally, type SentRecord } from '../format.js'
import type { SentLine } from '../lines.js'
import {
  belowZero,
  emptyRecord,
  isBelowZero,
  negated,
  plainIdentifiers,
  plainQuantity,
} from '../plain-row.js'
import { unitScale } from '../scale.js'
import { createNemFile } from './file.js'
import { nemLetter } from './quality.js'

/** Units of registers that measure no energy. */
const notEnergy = /^[kM]?VA(r|rh|h)?$/i

/** The fields of a 250 record that are read. */
interface Consumption {
  readonly nmi: string
  readonly register: string
  readonly serial: string
  readonly direction: string
  readonly previous: string
  readonly current: string
  readonly method: string
  readonly quantity: string
  readonly unit: string
}

/**
 * Consumption of the Australian market between two reads of a register (AEMO, Meter Data File Format, NEM13),
 * as billed periods. Times are market time. The day of the later read belongs to the next period.
 */
export function createNem13(settings: Nem13Settings, context: BilledContext): Conversion {
  const { count, warnings } = createTally()
  const file = createNemFile({
    version: 'NEM13',
    setting: 'files.format.Billing',
    kinds: '100, 250, 550 or 900',
    lineBytesMax: context.lineBytesMax,
    read: (at, fields) => {
      const kind = fields[0]?.trim()
      if (kind === '550') return [emptyRecord(at)]
      return kind === '250' ? [toPeriod(at, fields, { settings, context, count })] : undefined
    },
    refused: refusedPeriod,
  })
  return {
    rowFormat: { extraColumns: 0 },
    records: file.records,
    ending: () => ({ ...file.ending(), warnings: warnings('periods') }),
  }
}

interface Reading {
  readonly settings: Nem13Settings
  readonly context: BilledContext
  /** Called for each period that is left out, or is worth a note, with what it is. */
  readonly count: (what: string) => void
}

function readConsumption(fields: readonly string[]): Consumption {
  const at = (index: number) => (fields[index] ?? '').trim()
  return {
    nmi: at(1),
    register: at(4).toUpperCase(),
    serial: at(6),
    direction: at(7).toUpperCase(),
    previous: at(9),
    current: at(14),
    method: at(15).toUpperCase(),
    quantity: at(18),
    unit: at(19),
  }
}

function toPeriod(
  at: SentLine,
  fields: readonly string[],
  { settings, context, count }: Reading,
): SentRecord {
  const sent = readConsumption(fields)
  const { nmi, register, serial, direction, method, unit } = sent
  const shown = (text: string) => JSON.stringify(text.slice(0, 20))
  const isQuoted = `${nmi}${register}${serial}`.includes('"')
  const fill = (template: string) =>
    template
      .replaceAll('{nmi}', nmi)
      .replaceAll('{register}', register)
      .replaceAll('{serial}', serial)
  const identifiers = isQuoted
    ? undefined
    : plainIdentifiers({
        account: fill(settings.account),
        site: fill(settings.site),
        meter: fill(settings.meter),
      })
  const stored = context.usage.unit.Electric
  const scale = unitScale(unit, stored)
  const quantity = scale === undefined ? '0' : plainQuantity(scale(sent.quantity))
  const refuse = (detail: string, code: RejectCode = 'BAD_RECORD') =>
    refusedPeriod(at, { code, column: '', detail, identifiers, quantity })
  const leave = (what: string) => {
    count(`${what}: not loaded`)
    return emptyRecord(at)
  }
  if (isQuoted) return refuse('NMI, suffix and serial number must not have quotes')
  if (notEnergy.test(unit) || settings.registers?.includes(register) === false) {
    return leave(`of register ${register.slice(0, 20)} (${unit.slice(0, 20)})`)
  }
  if (scale === undefined) return refuse(`UOM must be kWh, Wh or MWh, found ${shown(unit)}`)
  if (!/^[AEFNS]\d{0,2}$/.test(method)) {
    return refuse(`CurrentQualityMethod ${shown(method)} does not begin with A, E, F, N or S`)
  }
  if (method.startsWith('N')) return leave('without data (quality N)')
  if (direction !== 'E' && direction !== 'I') {
    return refuse(`DirectionIndicator must be E or I, found ${shown(direction)}`)
  }
  const offset = offsetSeconds(settings.offset)
  const [start, end] = [readTime(sent.previous, offset), readTime(sent.current, offset)]
  if (start === undefined || end === undefined) {
    const which = start === undefined ? 'Previous' : 'Current'
    return refuse(`${which}RegisterReadDateTime is not a time YYYYMMDDhhmmss`, 'NOT_A_TIME')
  }
  const days = daysBetween(context.zone, { start, end })
  if (days === undefined) return refuse('the current read is not on a later day than the previous')
  const isGeneration = direction === 'I' && settings.generation === 'negative'
  if (isGeneration && isBelowZero(quantity)) {
    return refuse(belowZero('set generation: positive'), 'NEGATIVE')
  }
  if (isGeneration) count('of direction I (generation): loaded as negative')
  const signed = isGeneration ? negated(quantity) : quantity
  const quality = nemLetter(method.slice(0, 1))
  const rows = periodRow(identifiers as string, { ...days, quantity: signed, quality })
  return { line: at.line, raw: at.text, rows, count: 1 }
}

/** A time `YYYYMMDDhhmmss` at an offset in seconds, as epoch seconds; undefined for any other text. */
function readTime(text: string, offset: number): number | undefined {
  const found = /^(\d{4})(\d\d)(\d\d)([01]\d|2[0-3])([0-5]\d)([0-5]\d)$/.exec(text)
  if (found === null) return undefined
  const [year, month, day, hour, minute, second] = found.slice(1).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  if (!isCalendarDay(year, month, day)) return undefined
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1_000 - offset
}
