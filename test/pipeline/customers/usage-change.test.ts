import t from 'tap'
import { endClients, register, renewAll } from '../../../pipeline/customers/registrations.js'
import { metersInRecords } from '../../../pipeline/customers/stored-facts.js'
import { publishAnnounced } from '../../../pipeline/ledger/announced.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { randomFrom, sample, someOf } from '../../rig/sample.js'
import { createLineByHand } from '../by-hand.js'
import { repeatUntilDone } from '../dying.js'
import { createConsumer } from './consumer.js'
import {
  anyHistory,
  fileName,
  firstDay,
  type History,
  type HistoryRead,
  instantOfHour,
  instantOfRound,
  roundCount,
  takeSights,
  toRow,
} from './histories.js'
import { customerAt, publishFile, registeringAt } from './registering.js'

const line = await createLineByHand(t)
const { store } = line.context
const seed = Date.now() & 0x7fffffff
const random = randomFrom(seed)
const untilDone = (step: (other: Store) => Promise<unknown>) =>
  repeatUntilDone({ store, random }, step)

type Ingestion = 'full' | 'registered'

function contextOf(other: Store, ingestion: Ingestion) {
  const { context } = line
  const ledger = createLedger(other, context.now)
  return { ...context, profile: { ...context.profile, ingestion }, store: other, ledger }
}

const prefixOf = (batch: string, at: number) => `${batch}${at}-`
let fileCount = 0

async function loadFile(rows: readonly string[], ingestion: Ingestion): Promise<void> {
  if (rows.length === 0) return
  const arrival = await line.takeIn(fileName(fileCount++), rows)
  await untilDone((other) => reconcile(contextOf(other, ingestion), arrival))
  await untilDone((other) => settle(contextOf(other, ingestion), arrival))
}

const toRowText = (read: HistoryRead, prefix: string) =>
  toRow(read, prefix, Math.floor(random() * 100) + 1)

/** Some reads of earlier files again, with another quantity and sometimes another account. */
function corrections({ usage }: History): readonly HistoryRead[] {
  return usage
    .flat()
    .filter(() => random() < 0.3)
    .map((read) => (random() < 0.5 ? read : { ...read, account: random() < 0.5 ? 'A' : 'X' }))
}

async function recordRows(table: string, rows: readonly object[]): Promise<void> {
  if (rows.length === 0) return
  const { arrival } = await line.arrive(`DEMO_01012026_${table}.csv`, [])
  const version = (at: number) => String(BigInt(arrival) * 2n ** 32n + BigInt(at + 2))
  await store.insert(
    table,
    rows.map((row, at) => ({ ...row, version: version(at) })),
  )
  await publishFile(store, {
    arrival,
    feed: 'Billing',
    more: { settled_at: new Date().toISOString() },
  })
  const meterIds = await metersInRecords(store, { table, arrival })
  await untilDone((other) => renewAll(registeringAt(other), meterIds))
}

const dayOf = (ms: number) => new Date(ms).toISOString().slice(0, 10)

function stepsOf(batch: string, histories: readonly History[], ingestion: Ingestion) {
  const each = <T>(of: (history: History, prefix: string) => readonly T[]) =>
    histories.flatMap((history, at) => of(history, prefixOf(batch, at)))
  const rounds = Array.from({ length: roundCount }, (_, round) => async () => {
    const sights = each(({ rounds }, prefix) =>
      (rounds[round] ?? []).map((sight) => ({ sight, prefix })),
    )
    const at = (other: Store) => ({
      ...registeringAt(other, () => new Date(instantOfRound(round))),
      profile: { ...line.context.profile, ingestion },
    })
    await takeSights(sights, (step) => untilDone((other) => step(at(other))))
  })
  const files = [0, 1, 2].map((file) => async () => {
    const rows = each(({ usage }, prefix) =>
      (usage[file] ?? []).map((read) => toRowText(read, prefix)),
    )
    await loadFile(rows, ingestion)
  })
  const corrected = async () => {
    const rows = each((history, prefix) =>
      corrections(history).map((read) => toRowText(read, prefix)),
    )
    await loadFile(rows, ingestion)
  }
  const billed = () =>
    recordRows(
      'billing_period_row',
      each(({ bills }, prefix) =>
        bills.map(({ account, site, meter, hour }) => ({
          account_number: `${prefix}${account}`,
          external_site_id: `${prefix}${site}`,
          meter_id: `${prefix}${meter}`,
          billing_start_date: dayOf(instantOfHour(hour)),
          billing_end_date: dayOf(instantOfHour(hour)),
          total_consumption: '1',
          meter_effective_date: dayOf(instantOfHour(hour)),
        })),
      ),
    )
  const terminated = () =>
    recordRows(
      'termination_row',
      each(({ terminations }, prefix) =>
        terminations.map(({ account, site, day }) => ({
          account_number: `${prefix}${account}`,
          external_site_id: site === '' ? '' : `${prefix}${site}`,
          meter_id: '',
          termination_date: dayOf(firstDay + day * 86_400_000),
        })),
      ),
    )
  const erased = () => untilDone((other) => eraseDue(contextOf(other, ingestion)))
  const named = { rounds, files, corrected: [corrected, corrected], billed: [billed] }
  const all = Object.entries({ ...named, terminated: [terminated], erased: [erased, erased] })
  return all
    .flatMap(([name, steps]) => steps.map((step, at) => ({ name: `${name} ${at}`, step })))
    .map((step) => ({ ...step, order: random() }))
    .sort((a, b) => a.order - b.order)
}

for (const ingestion of someOf(['full', 'registered'] as const, 1, seed)) {
  t.test(`who pulls increments has what readers see: ${ingestion} (seed ${seed})`, async (t) => {
    const consumer = createConsumer(store)
    for (let batch = 0; batch < sample({ short: 1, long: 10 }); batch++) {
      const histories = Array.from({ length: 25 }, () => anyHistory(random))
      const steps = stepsOf(`${ingestion[0]}${batch}x`, histories, ingestion)
      for (const { step } of steps) {
        if (random() < 0.5) await consumer.pull()
        await step()
      }
      await publishAnnounced(line.context, 0)
      await consumer.pull()
      const wrong = await consumer.differences()
      t.same(wrong.slice(0, 3), [], steps.map(({ name }) => name).join(', '))
      t.ok(consumer.rows.size > 20, `${consumer.rows.size} rows`)
    }
  })
}

t.test('a change lists the days of the meter, who had them and who has them', async (t) => {
  const at = { meterId: 'listed', externalSiteId: 'listed' }
  const listed = () =>
    store.rows({
      sql: `SELECT toString(local_day) AS first, toString(last_local_day) AS last,
          client_ids_before AS before, client_ids_after AS after, cause
        FROM usage_change WHERE meter_id = 'listed' ORDER BY published_seq DESC, first LIMIT 2`,
    })
  const january = registeringAt(store, () => new Date('2026-01-10T17:00:00Z'))
  await register(january, [customerAt({ clientId: 'o', accountNumber: 'OLD', ...at })])
  const always = { first: '1970-01-01', last: '2106-02-07' }
  t.match(await listed(), [{ before: [], after: ['o'], cause: 'ownership', ...always }])
  const rated = customerAt({ clientId: 'o', accountNumber: 'OLD', ...at, rateCode: 'TOU' })
  const later = registeringAt(store, () => new Date('2026-01-20T17:00:00Z'))
  await register(later, [rated])
  t.match((await listed())[0], {
    ...{ first: '2026-01-20', last: always.last },
    ...{ before: ['o'], after: ['o'], cause: 'cost' },
  })
  const gone = registeringAt(store, () => new Date('2026-02-01T17:00:00Z'))
  await endClients(gone, ['o'], 'closed')
  t.match((await listed())[0], {
    ...{ first: '2026-02-01', last: always.last },
    ...{ before: ['o'], after: [], cause: 'ownership' },
  })
  const before = await listed()
  await endClients(gone, ['o'], 'closed')
  t.same(await listed(), before)
})

t.test(
  'reads of a client without an account become another one’s whose account they have',
  async (t) => {
    const at = { meterId: 'unnamed', externalSiteId: 'unnamed' }
    const consumer = createConsumer(store)
    const january = registeringAt(store, () => new Date('2026-01-10T17:00:00Z'))
    await register(january, [customerAt({ clientId: 'x', accountNumber: '', ...at })])
    await loadFile(
      ['NEW,unnamed,unnamed,1/11/2026 1:00,7', 'ALONE,unnamed,unnamed,1/10/2026 1:00,8'],
      'full',
    )
    await consumer.pull()
    const ownersBy = () =>
      Object.fromEntries(
        [...consumer.rows.values()]
          .map((row) => JSON.parse(row))
          .filter((row) => row.meter_id === 'unnamed')
          .map((row) => [row.account_number, row.client_ids]),
      )
    t.same(ownersBy(), { NEW: ['x'], ALONE: ['x'] })
    const february = registeringAt(store, () => new Date('2026-02-10T17:00:00Z'))
    await register(february, [customerAt({ clientId: 'n', accountNumber: 'NEW', ...at })])
    await consumer.pull()
    t.same(await consumer.differences(), [])
    t.same(ownersBy(), { NEW: ['n'], ALONE: ['x'] })
  },
)
