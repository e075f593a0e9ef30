import type { GreenButtonSettings } from '../../../schemas/settings/formats/green-button.js'
import { daySeconds } from '../../../schemas/time/zone.js'
import type { RejectCode } from '../../../schemas/usage-row.js'
import { espiLetter, forecast, type SentSeries } from '../espi-series.js'
import type { BilledContext, Conversion } from '../format.js'
import { createEspiFile, longestSeconds, type ToRecord } from '../green-button.js'
import { belowZero, emptyRecord, isBelowZero, negated, plainQuantity } from '../plain-row.js'
import { multiplier } from '../scale.js'
import { daysBetween, periodRow, refusedPeriod } from './period.js'

/** ESPI writes the cost of a reading in hundred-thousandths of its currency. */
const toDollars = multiplier('0.00001')
/** ISO 4217, as ReadingType has it. */
const dollars = '840'

/**
 * Green Button files (ESPI) as billed periods: the readings longer than a day, of both commodities. Shorter
 * ones are counted, and not loaded.
 */
export function createGreenButtonPeriods(
  settings: GreenButtonSettings,
  context: BilledContext,
): Conversion {
  const open = (count: (what: string) => void) => createToPeriod(context, count)
  const file = createEspiFile(settings, context, open)
  return {
    rowFormat: { extraColumns: 0 },
    records: file.records,
    ending: () => file.ending('periods'),
  }
}

function createToPeriod(context: BilledContext, count: (what: string) => void): ToRecord {
  const owners = new Map<string, SentSeries>()
  return ({ at, start, duration, value, cost, ...sent }, series) => {
    const isNumber = /^-?\d{1,18}$/.test(value)
    const refuse = (detail: string, code: RejectCode = 'BAD_RECORD') => {
      const quantity = isNumber && series ? series.scale(value) : '0'
      const { identifiers } = series ?? {}
      return refusedPeriod(at, { code, column: '', detail, identifiers, quantity })
    }
    const leave = (what: string) => {
      count(`${what}: not loaded`)
      return emptyRecord(at)
    }
    if (series === undefined) return refuse('no ReadingType of its MeterReading is in the file')
    if (series.left !== undefined) return leave(series.left)
    if (!/^\d{1,10}$/.test(start)) return refuse('its timePeriod has no start in seconds')
    const seconds = duration === '' ? series.seconds : Number(/^\d{1,9}$/.exec(duration)?.[0] ?? 0)
    if (seconds === 0) return refuse('its timePeriod has no duration in seconds')
    if (seconds <= daySeconds + longestSeconds) return leave('of a day at most (reads)')
    if (series.refused !== undefined) return refuse(series.refused)
    const qualities = sent.qualities.length > 0 ? sent.qualities : series.qualities
    if (qualities.includes(forecast)) return leave('of quality 12 (projected)')
    const days = daysBetween(context.zone, { start: Number(start), end: Number(start) + seconds })
    if (days === undefined) return refuse('its timePeriod has no whole day')
    const owner = owners.get(series.meter) ?? series
    if (owner !== series) {
      return refuse('two series would be one meter: use {flow} or {meterReading} in it')
    }
    owners.set(series.meter, series)
    const found = plainQuantity(isNumber ? series.scale(value) : '?')
    if (series.isGeneration && isBelowZero(found)) {
      return refuse(belowZero('set generation: positive'), 'NEGATIVE')
    }
    if (series.isGeneration) count('of reverse flow (generation): loaded as negative')
    const isDollars = series.currency === dollars
    if (cost !== '' && !isDollars) count('with a cost that is not in US dollars: loaded without it')
    const rows = periodRow(series.identifiers, {
      ...days,
      quantity: series.isGeneration ? negated(found) : found,
      cost: cost !== '' && isDollars ? plainQuantity(toDollars(cost)) : '',
      quality: espiLetter(qualities),
    })
    return { line: at.line, raw: at.text, rows, count: 1 }
  }
}
