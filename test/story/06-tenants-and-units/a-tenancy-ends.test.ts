/**
 * # 6.4 A tenancy ends
 *
 * What: What ends a tenancy, what takes an end back, and whose the reads and bills are then.
 * Why: A reader must see his own energy and no other, whatever the files and the CIS say of a meter.
 * Try: Load a bill with `MeterEffectiveDate` under another account and query `tenancy_event`.
 */
import t from 'tap'
import { bill } from '../../../pipeline/bills/run.js'
import { endClients, register } from '../../../pipeline/customers/registrations.js'
import type { Registration } from '../../../schemas/gateway/registration.js'
import { createZone } from '../../../schemas/time/zone.js'
import { customerAt, registeringAt } from '../../pipeline/customers/registering.js'
import { header, openStory, storyProfile } from '../rig/stack.js'
import { type TenancyCase as Case, cases, quarters, type Who } from './tenancy-cases.js'

const options = { profile: { usage: { intervals: { Electric: ['day', 900] } } } }
const story = await openStory(t, options)
const file = (...lines: readonly string[]) => `${lines.join('\n')}\n`
const placeOf = (at: number, meter = 'M') => [`S${at}`, `${meter}-${at}`] as const
const dayOf = (day: number) => `2024-06-${String(day).padStart(2, '0')}`
const each = <T>(toRows: (one: Case, at: number) => readonly T[]) => cases.flatMap(toRows)
const clockOf = (quarter: number) =>
  `${Math.floor(quarter / 4)}:${String((quarter % 4) * 15).padStart(2, '0')}`

/** A file has timestamps of one form. */
const isDaily = (row: string) => !row.includes(':')

function rowsOf(kind: 'reads' | 'late'): readonly string[] {
  return each((one, at) =>
    (one[kind] ?? []).flatMap(([account, first, last, meter]) => {
      const days = Array.from({ length: last - first + 1 }, (_, more) => `6/${first + more}/2024`)
      const times =
        meter === quarters
          ? days.flatMap((day) => Array.from({ length: 96 }, (_, at) => `${day} ${clockOf(at)}`))
          : days
      return times.map((time) => [account, ...placeOf(at, meter), time, '1'].join(','))
    }),
  )
}

function toRecord({ readUnder = [], ...who }: Who, at: number): Registration {
  const [site, meterId] = placeOf(at, who.meterId)
  const externalSiteId = `${who.externalSiteId ?? ''}${site}`
  const { meters, ...record } = customerAt({ ...who, externalSiteId, meterId })
  return { ...record, meters: meters.map((meter) => ({ ...meter, readUnder })) }
}

const seenOn = (day: string) => registeringAt(story.store, () => new Date(`${day}T16:00:00Z`))
const see = (kind: 'may' | 'june5' | 'june9', day: string) =>
  register(
    seenOn(day),
    each((one, at) => (one[kind] ?? []).map((who) => toRecord(who, at))),
  )
const load = async (files: Readonly<Record<string, string>>) => {
  for (const receipt of await story.loadAll(files)) {
    t.match(receipt, { status: 'published', rows: { rejected: 0 } })
  }
}

t.test('records, files and bills come as they come in a month', async () => {
  await see('may', '2024-05-20')
  await load({
    'DEMO_10062024_Electric.csv': file(header, ...rowsOf('reads').filter(isDaily)),
    'DEMO_10062024_Electric_2.csv': file(header, ...rowsOf('reads').filter((row) => !isDaily(row))),
    'DEMO_10062024_BillingCycles.csv': file(
      'BillingCycleID,StartDate,EndDate',
      '7,2024-06-01,2024-06-10',
    ),
    'DEMO_10062024_RateCodes.csv': file('RateCode,Description,RateType', 'RES,Residential,Flat'),
    'DEMO_10062024_RateFlat.csv': file(
      'RateCode,Amount,RateStartDate,RateEndDate,Component',
      'RES,0.1,2024-01-01,,',
    ),
    'DEMO_10062024_Billing.csv': file(
      'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate',
      ...each(({ billed }, at) =>
        billed === undefined
          ? []
          : [`${billed[0]},${placeOf(at)},2024-06-01,2024-06-10,1,,,,${dayOf(billed[1])}`],
      ),
    ),
    'DEMO_10062024_Terminations.csv': file(
      'ContractAccount,ExternalSiteID,MeterID,TerminationDate,Reason',
      ...each(({ terminated }, at) =>
        terminated === undefined
          ? []
          : [`${terminated[0]},${placeOf(at)},${dayOf(terminated[1])},`],
      ),
    ),
  })
  await see('june5', dayOf(5))
  const closed = each(({ closed = [] }) => closed)
  await endClients(seenOn(dayOf(5)), closed, 'closed')
  await see('june9', dayOf(9))
  await load({ 'DEMO_11062024_Electric.csv': file(header, ...rowsOf('late')) })
  const profile = storyProfile({ profile: { ...options.profile, billing: { presentShareMin: 0 } } })
  const context = { store: story.store, profile, zone: createZone(profile.timeZone) }
  await bill({ ...context, now: () => new Date() }, { cycleId: '7', start: '2024-06-01' })
})

/** Rows of a statement with a column `meter`, by the case of the meter; texts of other meters name theirs. */
async function byCase(statement: string): Promise<ReadonlyMap<number, readonly string[]>> {
  const rows = await story.reader.rows<{ meter: string; text: string }>({ sql: statement })
  const found = new Map<number, string[]>()
  for (const { meter, text } of rows) {
    const [name = '', at = ''] = meter.split('-')
    const shown = ['M', quarters].includes(name) ? text : `${name}: ${text}`
    found.set(Number(at), [...(found.get(Number(at)) ?? []), shown])
  }
  return found
}

const ownersOfMeters = `SELECT meter, concat(
    if(min(day) = max(day), toString(min(day)), concat(toString(min(day)), '-', toString(max(day)))), ' ', who,
    if(count() = uniqExact(day), '', concat(' ', toString(count())))) AS text
  FROM (SELECT meter_id AS meter, toDayOfMonth(local_day) AS day, arrayStringConcat(client_ids, '+') AS who,
      day - dense_rank() OVER (PARTITION BY meter, who ORDER BY day) AS run FROM registered_usage)
  GROUP BY meter, who, run ORDER BY meter, min(day)`
const eventsOfMeters = `SELECT meter_id AS meter, concat(kind, ' ', if(old_account_number = '', '-', old_account_number), '>',
    if(new_account_number = '', '-', new_account_number), ' ', toString(toDayOfMonth(at - INTERVAL 4 HOUR)), ' ', evidence) AS text
  FROM tenancy_event ORDER BY meter, text`
const billsOfMeters = `SELECT meter_id AS meter, concat(account_number, ' ', arrayStringConcat(client_ids, '+'), ' ',
    toString(toFloat64(quantity))) AS text
  FROM projected_bill WHERE quantity > 0 ORDER BY meter, text`

t.test('whose reads and bills they are in the end, and what is known of each end', async (t) => {
  const [owners, events, bills] = [
    await byCase(ownersOfMeters),
    await byCase(eventsOfMeters),
    await byCase(billsOfMeters),
  ]
  for (const [at, one] of cases.entries()) {
    t.same(owners.get(at) ?? [], one.owners, `${one.says}: reads`)
    t.same(events.get(at) ?? [], one.events, `${one.says}: events`)
    t.same(bills.get(at) ?? [], one.bills, `${one.says}: bills`)
  }
})

t.test('what is nobody’s is stored, and counted for nobody', async (t) => {
  const [count] = await story.reader.rows({
    sql: `SELECT toUInt32(countIf(account_number IN ('STRANGER', 'HOUSE', 'NEXT', 'WRONG', 'EARLIER'))) AS reads,
      (SELECT toUInt32(count()) FROM registered_usage
        WHERE account_number IN ('STRANGER', 'HOUSE', 'NEXT', 'WRONG', 'EARLIER')) AS seen FROM usage`,
  })
  t.same(count, { reads: 96 + 3 + 4 + 1 + 3, seen: 0 })
})
