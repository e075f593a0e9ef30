import { pino } from 'pino'
import { bill } from '../../../pipeline/bills/run.js'
import type { queueDue } from '../../../pipeline/bills/when-due.js'
import { statementText } from '../../rig/statements/statement-text.js'
import type { BillRig } from './rig.js'

const minuteMs = 60_000
/** Instants behind now, so that what is published here lies in their past. */
export const later = (minutes: number) => new Date(Date.now() + minutes * minuteMs)

/** Rates and cycles of which some periods have ended. */
export const schedules = {
  RateCodes: ['FLAT,Flat,Flat,,', 'TOU,Time of use,TOU,,', 'GAS,Gas,Flat,Gas,ccf'],
  RateFlat: ['FLAT,0.1,2025-01-01,,', 'GAS,0.9,2025-01-01,,'],
  RateTou: ['TOU,Peak,0.2,14,19,--01-01,--12-31,,', 'TOU,Off-Peak,0.08,19,14,--01-01,--12-31,,'],
  Holidays: ['2026-05-25,Memorial Day,'],
  BillingCycles: [
    '7,2026-01-01,2026-01-31',
    '7,2026-02-01,2026-02-28',
    '7,2026-05-01,2026-05-31',
    '7,2026-07-01,2026-07-31',
    '8,2026-01-01,2026-01-31',
  ],
}

/** What a worker has, at an instant. */
export function lineAt(rig: BillRig, at: Date, fails?: Error) {
  const queued: unknown[] = []
  const line = {
    ...rig.context({ quietMinutes: 10, daysBackMax: 36_500 }),
    now: () => at,
    log: pino({ level: 'silent' }),
    queues: {
      add: async (name: string, data: object) => {
        queued.push({ name, ...data })
      },
    },
  }
  const store = {
    ...line.store,
    command: async (statement: Parameters<typeof line.store.command>[0]) => {
      if (fails !== undefined && statementText(statement).includes('bill_member_')) throw fails
      return rig.store.command(statement)
    },
  }
  return { line: { ...line, store } as unknown as Parameters<typeof queueDue>[0], queued }
}

/** Quarter hours from a day of summer on: more on afternoons of working days, less on other days. */
export function pattern(day: string, days: number) {
  const from = `${day}T04:00:00Z`
  const quantities = Array.from({ length: days * 96 }, (_, at) => {
    const wall = new Date(Date.parse(from) + at * 900_000 - 4 * 3_600_000)
    const isOff = [0, 6].includes(wall.getUTCDay()) || wall.toISOString().startsWith('2026-05-25')
    if (isOff) return '0.1'
    return wall.getUTCHours() >= 14 && wall.getUTCHours() < 19 ? '0.5' : '0.25'
  })
  return { from, quantities }
}

/** Minutes until noon in some days. */
export function noonIn(days: number): number {
  const day = later(days * 1_440)
    .toISOString()
    .slice(0, 10)
  return (Date.parse(`${day}T17:00:00Z`) - Date.now()) / minuteMs
}

/** Bills the period that is open until the end of May, of all meters but the first. */
export async function billsOn(rig: BillRig, day: string) {
  const now = () => new Date(`${day}T16:00:00Z`)
  const { reasons } = await bill({ ...rig.context(), now }, { cycleId: '7', start: '2026-05-01' })
  const found = await rig.store.rows<{ meter: string }>({
    sql: `SELECT meter_id AS meter, status, method, days_actual AS actual, days_projected AS projected,
        completeness, toString(quantity) AS quantity, toString(total) AS total
      FROM projected_bill WHERE start_date = '2026-05-01' AND meter_id != 'one'`,
  })
  return { reasons, bills: Object.fromEntries(found.map(({ meter, ...more }) => [meter, more])) }
}

export const restated = (rig: BillRig) =>
  rig.store.rows({
    sql: `SELECT meter_id AS meter, toString(old_quantity) AS old, toString(new_quantity) AS new
      FROM projected_bill_restatement WHERE start_date = '2026-05-01'`,
  })
