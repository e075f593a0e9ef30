import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../../infra/package-root.js'
import { importRates } from '../../../schemas/rating/database/import.js'
import type { Case } from './bill-case.js'

/** Bills and schedules that others have published; some checkouts are without them. */
export const vectors = join(packageRoot(import.meta.url), '..', 'shared', 'vectors')

interface Schedule {
  readonly weekday_12x24: readonly (readonly number[])[]
  readonly weekend_12x24: readonly (readonly number[])[]
  readonly rate_rows_period_tier_maxusage_unit_buy_sell: readonly (readonly number[])[]
}

export function scheduleOf(id: string): Schedule {
  const path = join(vectors, 'ssc', 'schedules.json')
  const schedules = JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, Schedule>>
  return schedules[id.replace('SSC-', '')] as Schedule
}

const units: Readonly<Record<number, string>> = { 0: 'kWh', 2: 'kWh daily' }

/** A schedule as an answer of the open rate database, for 2018. Periods are counted from 0 there. */
function toAnswer(label: string, schedule: Schedule) {
  const rows = schedule.rate_rows_period_tier_maxusage_unit_buy_sell
  const numbers = [...new Set(rows.map(([period]) => period ?? 0))].sort((a, b) => a - b)
  const fromZero = (months: readonly (readonly number[])[]) =>
    months.map((hours) => hours.map((period) => numbers.indexOf(period)))
  const entry = {
    label,
    startdate: Date.parse('2018-01-01T06:00:00Z') / 1_000,
    enddate: Date.parse('2018-12-31T06:00:00Z') / 1_000,
    energyratestructure: numbers.map((number) =>
      rows
        .filter(([period]) => period === number)
        .map(([, , max, unit = 0, rate, sell]) => ({ max, unit: units[unit], rate, sell })),
    ),
    energyweekdayschedule: fromZero(schedule.weekday_12x24),
    energyweekendschedule: fromZero(schedule.weekend_12x24),
  }
  return { items: [entry] }
}

/** A case with rate files that were imported from the database instead of written by hand. */
export function imported(id: string, { rate, ...one }: Case): Case {
  const label = `${rate}-IMPORTED`
  const { files, linted, tariffs } = importRates(
    JSON.parse(JSON.stringify(toAnswer(label, scheduleOf(id)))),
    { company: 'DEMO', fileDate: '2026-02-01', codes: new Map() },
  )
  const [tariff] = tariffs
  if (linted.errors.length > 0 || tariff?.missing.length !== 0) {
    throw new Error(`${id} is not imported completely: ${JSON.stringify({ linted, tariff })}`)
  }
  const rows = files.map(({ name, lines }) => [
    (name.split('_')[2] ?? '').replace('.csv', ''),
    lines.slice(1).map((line) => line.slice(label.length + 1)),
  ])
  return { ...one, rate: label, rows: Object.fromEntries(rows) }
}
