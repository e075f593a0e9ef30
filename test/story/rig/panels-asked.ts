import type { Test } from 'tap'
import { queryCycles } from '../../../infra/metrics/ledger.js'
import { readCompleteness } from '../../../infra/operations/panels/completeness.js'
import { readCycleDays } from '../../../infra/operations/panels/cycles.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { sql } from '../../../pipeline/store/sql.js'
import { createZone } from '../../../schemas/time/zone.js'
import { type StoryStack, storyProfile } from './stack.js'

/** Hourly reads of a meter: the first ones of a local day. */
async function readsOf(store: Store, meter: string, day: string, hours: number): Promise<void> {
  await store.command({
    sql: `INSERT INTO usage_read (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
        account_number, external_site_id, version)
      SELECT {meter:String}, 'Electric', toDateTime(${day}, 'America/Detroit') + number * 3600, 3600, ${day},
        number, 1, 'A', 'S', 4294967296 + number FROM numbers({hours:UInt8})`,
    parameters: { meter, hours },
  })
  await store.command({
    sql: `INSERT INTO stale_day (change, local_day, last_local_day, cause)
      SELECT rand64(), ${day}, ${day}, 'repair'`,
  })
}

/** What is known of the holder of a meter; an end is a second row. */
const holderOf = (store: Store, meter_id: string, more: Readonly<Record<string, unknown>> = {}) =>
  store.insert('tenancy', [
    {
      meter_id,
      external_site_id: 'S',
      account_number: `A-${meter_id}`,
      client_ids: ['1'],
      meter_type: 'Electric',
      billing_cycle_id: '7',
      started_by: 'first',
      version: 1,
      published_at: new Date().toISOString(),
      ...more,
    },
  ])

const ended = { version: 2, valid_to: '2023-01-01 00:00:00' }

/** A panel's figures at an instant that is long ago, by reads of those days alone. */
const sourceOf = ({ store, home }: StoryStack) => ({
  store,
  queues: undefined as never,
  profile: storyProfile(),
  zone: createZone('America/Detroit'),
  landing: home.landing,
  now: () => new Date('2023-06-10T18:00:00Z'),
  judge: async (error: unknown) => error,
})

async function askCompleteness(t: Test, story: StoryStack): Promise<void> {
  const { store } = story
  const source = sourceOf(story)
  const [before, today] = ["toDate('2023-06-09')", "toDate('2023-06-10')"]
  for (const meter of ['W-10', 'W-11', 'W-20', 'W-21']) await readsOf(store, meter, before, 24)
  await readsOf(store, 'W-10', today, 12)
  await readsOf(store, 'W-11', today, 24)
  await readsOf(store, 'W-10', "toDate('2023-06-07')", 24)
  const days = ['2023-06-07', '2023-06-08', '2023-06-09', '2023-06-10']
  const daysOf = (present: readonly number[], more: { expected: number; meters: number }) =>
    days.map((day, at) => ({ commodity: 'Electric', day, present: present[at], ...more }))
  t.match(
    await readCompleteness(source),
    daysOf([24, 0, 48, 36], { expected: 48, meters: 2 }),
    'nobody is registered: by the meters that the newest day has',
  )
  for (const meter of ['W-10', 'W-11', 'W-20', 'W-21', 'W-30']) await holderOf(store, meter)
  await holderOf(store, 'W-21', ended)
  t.match(
    await readCompleteness(source),
    daysOf([24, 0, 72, 36], { expected: 96, meters: 4 }),
    'who has nothing counts as missing; whom nobody holds is none of them',
  )
}

async function askCycleDays(t: Test, story: StoryStack): Promise<void> {
  const { store } = story
  await holderOf(store, 'W-40', { billing_cycle_id: '9' })
  await holderOf(store, 'W-40', { billing_cycle_id: '9', ...ended })
  await readsOf(store, 'W-20', 'today() - 1', 10)
  await store.command({
    sql: `INSERT INTO tenancy (meter_id, external_site_id, account_number, meter_type, billing_cycle_id, version)
      SELECT concat('V-', toString(number)), 'S', 'A', 'Gas', toString(10 + number % 20), 1 FROM numbers(400)`,
  })
  const shownCycles = (await queryCycles(store)).map(({ cycle }) => cycle)
  t.same(
    shownCycles.sort(),
    ['7', ...Array.from({ length: 20 }, (_, number) => String(10 + number))].sort(),
    'each cycle is shown, except one without customers',
  )
  await store.command({
    sql: `INSERT INTO schedule_version (arrival, feed, company_code, code, first_start)
      SELECT min(arrival), 'BillingCycles', 'ELSE', arrayJoin(['', '7', '8']), '2020-01-01' FROM file_state WHERE status = 'published'`,
  })
  await store.command({
    sql: `INSERT INTO billing_cycle_row (billing_cycle_id, start_date, end_date, version)
      WITH (SELECT toUInt64(min(arrival)) FROM file_state WHERE status = 'published') AS arrival,
        [('7', '2023-05-11', '2023-06-09'), ('7', '2023-06-10', '2023-07-09'), ('8', '2023-05-15', '2023-06-14')] AS rows
      SELECT rows[number].1, toDate(rows[number].2), toDate(rows[number].3), bitShiftLeft(arrival, 32) + number
      FROM numbers(1, 3)`,
  })
  const bills = { computed: 7, incomplete: 1, noRate: 2 }
  for (const run of ['01', '02']) {
    await store.insert('bill_run_row', [
      {
        run,
        billing_cycle_id: '7',
        start_date: '2023-05-11',
        last_date: '2023-06-09',
        bills: run === '01' ? {} : bills,
        settings: '{}',
        computed_at: `2023-06-10T${run}:00:00Z`,
      },
    ])
    await publishRun(store, run, `2023-06-10 ${run}:00:00`)
  }
  const { running, cycles } = await readCycleDays(sourceOf(story))
  t.equal(running, 2)
  t.match(cycles, [
    { cycle: '7', day: 31, days: 30, billed: 8, bills: 10, billedAt: '2023-06-10T02:00:00Z' },
    { cycle: '8', day: 27, days: 31, billed: 0, bills: 0, billedAt: '' },
    { cycle: '7', day: 1, days: 30, billedAt: '' },
  ])
}

/** Publishes a run of bills at an instant of the past. */
export async function publishRun(store: Store, run: string, at: string): Promise<void> {
  await store.command({
    sql: sql`INSERT INTO publication (published_seq, published_at, kind, run)
      SELECT max(published_seq) + 1, toDateTime64(${at}, 3, 'UTC'), 'bills', ${run} FROM publication`,
  })
}

export async function askPanels(t: Test, story: StoryStack): Promise<void> {
  await askCompleteness(t, story)
  await askCycleDays(t, story)
}
