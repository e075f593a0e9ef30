import t from 'tap'
import { readUsage } from '../../../api/reads/usage/usage.js'
import { endClients, register, renewAll } from '../../../pipeline/customers/registrations.js'
import { metersInRecords } from '../../../pipeline/customers/stored-facts.js'
import { batchesOf } from '../../../pipeline/store/batches.js'
import { sql } from '../../../pipeline/store/sql.js'
import { readingOf, usagePages } from '../../api/reads/rig.js'
import { randomFrom, sample } from '../../rig/sample.js'
import { billRig } from '../bills/rig.js'
import { derivedAgain } from './derived-again.js'
import {
  anyHistory,
  dayOf,
  firstDay,
  type History,
  type HistoryRead,
  instantOfHour,
  instantOfRound,
  named,
  roundCount,
  toRecord,
  wallAt,
} from './histories.js'
import { currentReads, ownersOf } from './owners.js'
import { learnStaged, publishFile, publishReads, registeringAt } from './registering.js'

const rig = await billRig(t)
const { store } = rig
await rig.publish({
  RateCodes: ['RES,Residential,Flat,,'],
  RateFlat: ['RES,0.1,2025-01-01,,'],
  BillingCycles: ['7,2026-02-16,2026-04-06'],
})
const reading = readingOf(t, store)
const batchSize = 250
const histories = sample({ short: 25, long: 10_000 })
const usageFiles = 3
/** Those of the rates come first. */
let arrivals = 10

/** The files of all histories of a batch: three of usage, one of bills, one of terminations. */
type Step = { readonly round: number } | { readonly file: number }

const rounds = Array.from({ length: roundCount }, (_, round): Step => ({ round }))
const files = Array.from({ length: usageFiles + 2 }, (_, file): Step => ({ file }))
const orders: Readonly<Record<string, readonly Step[]>> = {
  a: rounds.flatMap((round, at) => [round, files[at] as Step]),
  b: [...files].reverse().concat(rounds),
  c: [...rounds, ...files],
}

interface Batch {
  readonly batch: readonly History[]
  readonly from: number
}

interface Taking extends Batch {
  readonly order: string
  readonly first: number
}

const prefixOf = (order: string, number: number) => `${order}${number}-`

async function take(step: Step, { batch, order, first, from }: Taking): Promise<void> {
  const each = <T>(of: (history: History, prefix: string) => readonly T[]) =>
    batch.flatMap((history, at) => of(history, prefixOf(order, from + at)))
  if ('round' in step) {
    const context = registeringAt(store, () => new Date(instantOfRound(step.round)))
    const sights = each((history, prefix) =>
      (history.rounds[step.round] ?? []).map((sight) => ({ sight, prefix })),
    )
    const records = sights.filter(({ sight }) => sight.kind === 'record')
    await register(
      context,
      records.map(({ sight, prefix }) => toRecord(sight, prefix)),
    )
    for (const kind of ['closed', 'left'] as const) {
      const ends = sights.filter(({ sight }) => sight.kind === kind)
      const clientIds = ends.map(({ sight, prefix }) => `${prefix}${sight.client}`)
      await endClients(context, clientIds, kind)
    }
    return
  }
  const arrival = first + step.file
  const context = registeringAt(store)
  if (step.file < usageFiles) {
    const reads = each((history, prefix) =>
      (history.usage[step.file] ?? []).map((read) => toRead(read, prefix)),
    )
    await publishReads(store, arrival, reads)
    await learnStaged(context, arrival, reads)
    return
  }
  const table = step.file === usageFiles ? 'billing_period_row' : 'termination_row'
  const rows = each<object>((history, prefix) =>
    step.file === usageFiles
      ? history.bills.map((bill) => toBill(bill, prefix))
      : history.terminations.map((one) => toTermination(one, prefix)),
  )
  const version = (line: number) => String(BigInt(arrival) * 2n ** 32n + BigInt(line + 2))
  await store.insert(
    table,
    rows.map((row, line) => ({ ...row, version: version(line) })),
  )
  const feed = step.file === usageFiles ? 'Billing' : 'Terminations'
  await publishFile(store, { arrival, feed })
  await renewAll(context, await metersInRecords(store, { table, arrival }))
}

function toRead({ account, site, meter, hour }: HistoryRead, prefix: string) {
  return {
    accountNumber: named(account, prefix),
    externalSiteId: `${prefix}${site}`,
    meterId: `${prefix}${meter}`,
    startsAt: new Date(instantOfHour(hour)).toISOString(),
    localDay: dayOf(wallAt(instantOfHour(hour)).getTime()),
  }
}

function toBill({ account, site, meter, hour }: HistoryRead, prefix: string): object {
  const day = dayOf(instantOfHour(hour))
  return {
    account_number: `${prefix}${account}`,
    external_site_id: `${prefix}${site}`,
    meter_id: `${prefix}${meter}`,
    billing_start_date: day,
    billing_end_date: day,
    total_consumption: '1',
    meter_effective_date: day,
  }
}

function toTermination(one: History['terminations'][number], prefix: string): object {
  return {
    account_number: `${prefix}${one.account}`,
    external_site_id: one.site === '' ? '' : `${prefix}${one.site}`,
    meter_id: '',
    termination_date: dayOf(firstDay + one.day * 86_400_000),
  }
}

function metersOf({ batch, from }: Batch): readonly string[] {
  return batch.flatMap((_, at) =>
    Object.keys(orders).flatMap((order) =>
      ['M', 'N', 'O'].map((meter) => `${prefixOf(order, from + at)}${meter}`),
    ),
  )
}

interface Found {
  readonly order: string
  readonly number: number
  readonly meter: string
  readonly hour: number
  readonly clients: readonly string[]
}

/** Reads whose clients are not those of decision 11, and reads that are there more than once. */
async function compare({ batch, from }: Batch): Promise<readonly object[]> {
  const meters = metersOf({ batch, from })
  const rows = await store.rows<{ meter: string; at: number; clients: readonly string[] }>({
    sql: sql`SELECT meter_id AS meter, toUnixTimestamp(starts_at) AS at, client_ids AS clients
      FROM registered_usage WHERE meter_id IN ${meters}`,
  })
  const found = new Map<string, Found[]>()
  for (const { meter, at, clients } of rows) {
    const [prefix = '', name = ''] = meter.split('-')
    const one: Found = {
      order: prefix.slice(0, 1),
      number: Number(prefix.slice(1)),
      meter: name,
      hour: (at * 1_000 - firstDay) / 3_600_000,
      clients: clients.map((client) => client.split('-')[1] ?? ''),
    }
    const key = `${prefix} ${name} ${one.hour}`
    found.set(key, [...(found.get(key) ?? []), one])
  }
  const wrong: object[] = []
  for (const [at, history] of batch.entries()) {
    for (const order of Object.keys(orders)) {
      for (const read of currentReads(history)) {
        const rows = found.get(`${order}${from + at} ${read.meter} ${read.hour}`) ?? []
        const { must, may, readers } = ownersOf(history, read)
        const clients = rows.flatMap((row) => row.clients)
        const isMissed = must.some((client) => !clients.includes(client))
        const isForeign = clients.some((client) => ![...may, ...readers].includes(client))
        const isDouble = rows.length > 1
        if (isMissed || isForeign || isDouble) {
          wrong.push({ order, read, clients, must, may, readers, history: JSON.stringify(history) })
        }
      }
    }
  }
  return wrong
}

/** Of these meters and clients the gateway is asked. */
const askedOf = sample({ short: 6, long: 12 })

/** Customers who read something else through the gateway than `registered_usage` has for them. */
async function compareReads({ batch, from }: Batch): Promise<readonly object[]> {
  const wrong: object[] = []
  for (let asked = 0; asked < askedOf; asked++) {
    const at = from + ((asked * 7) % batch.length)
    const prefix = prefixOf(Object.keys(orders)[asked % 3] as string, at)
    const meterId = `${prefix}${['M', 'N', 'O'][asked % 3]}`
    for (const client of ['1', '2', '3']) {
      const clientId = `${prefix}${client}`
      const rows = await store.rows<{ at: string }>({
        sql: sql`SELECT formatDateTime(starts_at, '%Y-%m-%dT%H:%i:%SZ', 'UTC') AS at FROM registered_usage
          WHERE meter_id = ${meterId} AND has(client_ids, ${clientId}) ORDER BY starts_at`,
      })
      const days = { from: '2026-02-16', to: '2026-04-16' }
      const query = { meterId, granularity: 'interval', ...days } as const
      const isNone =
        rows.length === 0 && (await readUsage(reading, clientId, query)).kind === 'missing'
      const pages = isNone ? [] : await usagePages(reading, clientId, query)
      const seen = pages.flatMap(({ points }) => points).filter(({ reads }) => reads > 0)
      const [has, must] = [seen.map(({ start }) => start), rows.map((row) => row.at)]
      if (JSON.stringify(has) !== JSON.stringify(must)) wrong.push({ clientId, meterId, has, must })
    }
  }
  return wrong
}

/** Meters whose costs are read at once: days of meters need memory. */
const metersAtOnce = 150

interface Billed extends Pick<Found, 'meter' | 'clients'> {
  readonly account: string
}

/** Clients whose records name no account have bills of their own. */
function billKey({ meter, account, clients }: Billed): string {
  return `${meter} ${account || clients.join()}`
}

/** Bills that count a read which is not of all of their clients, or count one twice. */
async function compareBills({ batch, from }: Batch): Promise<readonly object[]> {
  await rig.bill({ start: '2026-02-16' })
  const wrong: object[] = []
  for (const meters of batchesOf(metersOf({ batch, from }), metersAtOnce)) {
    const counted = new Map<string, number>()
    const rows = await store.rows<Billed & { at: number }>({
      sql: sql`SELECT meter_id AS meter, account_number AS account, toUnixTimestamp(starts_at) AS at, client_ids AS clients
        FROM interval_cost WHERE meter_id IN ${meters} AND quantity IS NOT NULL`,
    })
    for (const { meter, account, at, clients } of rows) {
      const [prefix = '', name = ''] = meter.split('-')
      const history = batch[Number(prefix.slice(1)) - from] as History
      const hour = (at * 1_000 - firstDay) / 3_600_000
      const read = history.usage.flat().findLast((one) => one.meter === name && one.hour === hour)
      const { may } = ownersOf(history, read as HistoryRead)
      const isForeign = clients.some((one) => !may.includes(one.split('-')[1] ?? ''))
      for (const key of [`${meter} ${at}`, billKey({ meter, account, clients })]) {
        counted.set(key, (counted.get(key) ?? 0) + 1)
      }
      if (isForeign || counted.get(`${meter} ${at}`) !== 1) {
        wrong.push({ meter, read, clients, may, history: JSON.stringify(history) })
      }
    }
    const bills = await store.rows<Billed & { quantity: number }>({
      sql: sql`SELECT meter_id AS meter, account_number AS account, client_ids AS clients, toFloat64(quantity) AS quantity
        FROM projected_bill WHERE meter_id IN ${meters}`,
    })
    wrong.push(...bills.filter((bill) => (counted.get(billKey(bill)) ?? 0) !== bill.quantity))
  }
  return wrong
}

t.test('whatever happens, nobody sees a read that is not his, in any order', async (t) => {
  for (let from = 0; from < histories; from += batchSize) {
    const seed = Date.now() & 0x7fffffff
    const random = randomFrom(seed)
    const batch = Array.from({ length: Math.min(batchSize, histories - from) }, () =>
      anyHistory(random),
    )
    const base = arrivals
    arrivals += Object.keys(orders).length * files.length
    for (const [at, [order, steps]] of Object.entries(orders).entries()) {
      const first = base + at * files.length + 1
      for (const step of steps) await take(step, { batch, order, first, from })
    }
    const wrong = await compare({ batch, from })
    t.same(wrong.slice(0, 3), [], `seed ${seed}, histories from ${from}`)
    const stale = await derivedAgain(store, metersOf({ batch, from }))
    t.same(stale.slice(0, 3), [], `derived again, seed ${seed}`)
    const misread = await compareReads({ batch, from })
    t.same(misread.slice(0, 3), [], `read through the gateway, seed ${seed}`)
    const misbilled = await compareBills({ batch, from })
    t.same(misbilled.slice(0, 3), [], `bills, seed ${seed}`)
  }
})
