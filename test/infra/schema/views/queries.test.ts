import t from 'tap'
import { readQuestions } from '../../../../benchmarks/queries/questions.js'
import { queryCycles, readLedger } from '../../../../infra/metrics/ledger.js'
import { compare } from '../../../../pipeline/bills/compare/compare.js'
import { createStore } from '../../../../pipeline/store/clickhouse.js'
import { billRig, steady } from '../../../pipeline/bills/rig.js'
import { customerAt } from '../../../pipeline/customers/registering.js'

const rig = await billRig(t)
const reader = createStore({ ...rig.store.address, username: 'reader', password: 'r' })
t.teardown(() => reader.close())

type Row = Readonly<Record<string, unknown>>

/** The queries of the guide, for January 2026 in place of the months of the demo. */
const questions = readQuestions().map((one) => ({
  ...one,
  sql: one.sql.replaceAll(/'2026-(09|10)-01'/g, "'2026-01-01'"),
}))

/** January 2026 begins at 5:00 UTC in Detroit and has 744 hours, 105 of them in the peak of working days. */
const january = { from: '2026-01-01T05:00:00Z', seconds: 3_600 }
const hours = 744
const hourMs = 3_600_000
const hoursAgo = (count: number) =>
  new Date(Math.floor(Date.now() / hourMs - count) * hourMs).toISOString()

const known = (meterId: string, rateCode: string, billingCycleId = '7') => {
  const customer = customerAt({
    clientId: `c${meterId}`,
    accountNumber: `A${meterId}`,
    meterId,
    rateCode,
  })
  return rig.register({
    ...customer,
    meters: customer.meters.map((one) => ({ ...one, billingCycleId })),
  })
}
const readsOf = (meter: string) =>
  rig.store.rows<Row>({
    sql: `SELECT meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
        account_number, external_site_id, version FROM usage_read FINAL WHERE meter_id = {meter:String}`,
    parameters: { meter },
  })

/** Replaces reads of a meter by others, and records it as publishing does. */
async function correct(
  meter: string,
  reads: { readonly from: string; readonly quantities: readonly string[] },
) {
  const before = await readsOf(meter)
  await rig.read({ meter, seconds: 3_600, ...reads })
  const after = new Map((await readsOf(meter)).map((row) => [row['starts_at'], row]))
  const replaced = before.flatMap((old) => {
    const row = after.get(old['starts_at'])
    if (row === undefined || row['version'] === old['version']) return []
    const { quantity, account_number, external_site_id, version, ...key } = old
    const own = { old_quantity: quantity, old_account_number: account_number }
    const place = { old_external_site_id: external_site_id, old_version: version }
    return [
      { ...key, ...own, ...place, new_quantity: row['quantity'], new_version: row['version'] },
    ]
  })
  await rig.store.insert('restatement', replaced)
}

const bill = (meter: string, cost: string) =>
  `A${meter},S,${meter},2026-01-01,2026-01-31,744,744,${cost},,`

await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,', 'TOU,Time of use,TOU,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,'],
  RateTou: ['TOU,Peak,0.2,14,19,--01-01,--12-31,,', 'TOU,Off-Peak,0.08,19,14,--01-01,--12-31,,'],
  Holidays: ['2026-01-01,New Year,'],
  BillingCycles: ['7', '8', '9'].map((cycle) => `${cycle},2026-01-01,2026-01-31`),
  Billing: [
    bill('even', '74.40'),
    bill('high', '60.00'),
    bill('missing', '74.40'),
    bill('peak', '72.12'),
  ],
})
for (const [meter, rate] of [
  ['even', 'FLAT'],
  ['high', 'FLAT'],
  ['missing', 'FLAT'],
  ['peak', 'TOU'],
  ['strange', 'NONE'],
] as const) {
  await known(meter, rate)
  await rig.read({ meter, ...january, quantities: steady('1', meter === 'missing' ? 610 : hours) })
}
await known('fresh', 'FLAT')
await rig.read({ meter: 'fresh', from: hoursAgo(20), seconds: 3_600, quantities: steady('1', 19) })
await known('late', 'FLAT', '8')
await rig.read({ meter: 'late', from: hoursAgo(60), seconds: 3_600, quantities: steady('1', 10) })
await known('idle', 'FLAT', '9')
await rig.bill({ start: '2026-01-01' })
await correct('even', { from: '2026-01-01T08:00:00Z', quantities: steady('11', 3) })
await rig.bill({ start: '2026-01-01' })
await compare(rig.context())

/** What queries of the guide come to, by their numbers; a function where it goes by the clock. */
const answers: Readonly<Record<string, readonly Row[] | ((rows: readonly Row[]) => void)>> = {
  '1': (rows) => {
    const numbers = rows.map((row) => Number(row['published_seq']))
    t.same(
      numbers,
      [...numbers].sort((a, b) => a - b),
    )
    t.ok(rows.length > hours && (numbers[0] ?? 0) > 0)
  },
  // 744 x 0.10 against 60.00; 610 of 744 hours at 0.10 against 74.40.
  '10': [
    {
      account_number: 'Ahigh',
      meter_id: 'high',
      cost_billed: '60',
      cost_computed: '74.4',
      percent: 24,
      causes: ['unexplained 14.4'],
    },
    {
      account_number: 'Amissing',
      meter_id: 'missing',
      cost_billed: '74.4',
      cost_computed: '61',
      percent: -18,
      causes: ['missingIntervals -13.4'],
    },
  ],
  '12': [
    {
      billing_cycle_id: '7',
      status: 'incomplete',
      reason: '610 of 744 intervals have arrived',
      bills: '1',
      for_example: 'missing',
    },
    {
      billing_cycle_id: '7',
      status: 'noRate',
      reason: 'rate code "NONE" is not known',
      bills: '1',
      for_example: 'strange',
    },
    {
      billing_cycle_id: '7',
      status: 'noUsage',
      reason: 'no interval of the period has arrived',
      bills: '1',
      for_example: 'fresh',
    },
  ],
  // 774, 744 and 610 kWh under FLAT; 21 working days of 5 hours in the peak.
  '14': [
    { window: 'Flat', quantity: '2128', dollars: '212.8', meters: '3' },
    { window: 'Off-Peak', quantity: '639', dollars: '51.12', meters: '1' },
    { window: 'Peak', quantity: '105', dollars: '21', meters: '1' },
  ].map((window) => ({
    billing_cycle_id: '7',
    start_date: '2026-01-01',
    component: 'Energy',
    unit: 'kWh',
    ...window,
  })),
  '2': (rows) => {
    const none = { newest_interval_end: null, age_hours: null }
    const nowhere = ['even', 'high', 'idle', 'late', 'missing', 'peak', 'strange']
    t.same(
      rows.map((row) => row['meter_id']),
      nowhere,
    )
    const [late, ...others] = [...rows].sort((row) => (row['meter_id'] === 'late' ? -1 : 1))
    t.match(late, { account_number: 'Alate', billing_cycle_id: '8' })
    t.ok(Number(late?.['age_hours']) >= 50, 'the newest ended 50 hours ago')
    for (const row of others) t.match(row, none)
  },
  '5.2': [
    {
      account_number: 'Aeven',
      meter_id: 'even',
      start_date: '2026-01-01',
      files: ['Electric_14.csv'],
      reads: '3',
      reads_changed_by: '30',
      old_quantity: '744',
      new_quantity: '774',
      old_total: '74.4',
      new_total: '77.4',
    },
  ],
  '5': [
    {
      arrival: 14,
      file_name: 'Electric_14.csv',
      reads: '3',
      meters: '1',
      net: '30',
      moved: '30',
      first_day: '2026-01-01',
      last_day: '2026-01-01',
    },
  ],
  // The last meter's 610 hours are 25 days and 10 hours; two have no read in January, nor has a cycle each.
  '3': (rows) => {
    t.equal(rows.length, 3 * 31)
    const on = (day: string) =>
      rows.filter((row) => row['local_day'] === day && row['billing_cycle_id'] === '7')
    const meters = { billing_cycle_id: '7', meters: '6' }
    t.same(on('2026-01-25'), [{ ...meters, local_day: '2026-01-25', silent: '1', partial: '0' }])
    t.same(on('2026-01-26'), [{ ...meters, local_day: '2026-01-26', silent: '1', partial: '1' }])
    t.same(on('2026-01-27'), [{ ...meters, local_day: '2026-01-27', silent: '2', partial: '0' }])
  },
  // Under TOU: 72.12 and 30 kWh more at 0.08; 80 hours at 0.20 and 530 at 0.08; 72.12.
  '17': [
    { meter_id: 'even', own_total: '77.4', best_total: '74.52', saving: '2.88', is_incomplete: 0 },
    { meter_id: 'missing', own_total: '61', best_total: '58.4', saving: '2.6', is_incomplete: 1 },
    { meter_id: 'high', own_total: '74.4', best_total: '72.12', saving: '2.28', is_incomplete: 0 },
  ].map((own) => ({
    account_number: `A${own.meter_id}`,
    own_rate: 'FLAT',
    best_rate: 'TOU',
    ...own,
  })),
}

for (const [number, wanted] of Object.entries(answers)) {
  const { title, sql = '' } = questions.find((one) => one.number === number) ?? {}
  t.test(`${number}. ${title}`, async (t) => {
    const rows = await reader.rows<Row>({ sql })
    if (typeof wanted === 'function') wanted(rows)
    else t.same(rows, wanted)
  })
}

t.test('freshness by cycle: what is late, and what has nothing at all', async (t) => {
  const rows = await reader.rows<Row>({ sql: 'SELECT * FROM freshness ORDER BY billing_cycle_id' })
  const of = { company_code: 'DEMO', commodity: 'Electric' }
  t.match(rows, [
    { ...of, billing_cycle_id: '7', late: false },
    { ...of, billing_cycle_id: '8', late: true },
    { ...of, billing_cycle_id: '9', late: true, newest_interval_end: null, age_hours: null },
  ])
})

t.test('reads whose key was ended are not fresh', async (t) => {
  const [read] = await readsOf('late')
  const version = BigInt(String(read?.['version']))
  const ended = {
    ...read,
    starts_at: hoursAgo(30),
    local_day: hoursAgo(30).slice(0, 10),
    seconds: 86_400,
  }
  await rig.store.insert('usage_read', [
    ended,
    { ...ended, version: String(version + 1n), is_rekeyed: true },
  ])
  const [cycle] = await reader.rows<Row>({
    sql: "SELECT late FROM freshness WHERE billing_cycle_id = '8'",
  })
  t.ok(cycle?.['late'])
  const newest = (await queryCycles(reader)).find((one) => one.cycle === '8')?.newest
  t.equal(Number(newest), Date.parse(hoursAgo(50)) / 1_000)
})

/** The value of a metric of the ledger, by one of its labels. */
async function metric(wanted: string, label = '') {
  const samples = await readLedger(rig.store, { companyCodes: ['DEMO'] })
  const of = samples.find(({ name, labels }) => {
    return name === wanted && (label === '' || Object.values(labels).includes(label))
  })
  return Number(of?.value)
}

t.test('a read in the future counts as read when its file arrived', async (t) => {
  await rig.read({ meter: 'late', from: hoursAgo(-30), seconds: 3_600, quantities: ['1'] })
  const cycle = (await queryCycles(reader)).find((one) => one.cycle === '8')?.newest
  for (const newest of [
    Number(cycle),
    await metric('tieline_newest_interval_timestamp_seconds', 'Electric'),
  ]) {
    t.ok(Math.abs(Date.now() / 1_000 - newest) < 600, `${newest}`)
  }
})

t.test('a file that arrived and was never read has an age', async (t) => {
  t.ok((await metric('tieline_oldest_file_seconds')) < 1)
  await rig.store.insert('arrival', [{ arrival: 4_000, arrived_at: hoursAgo(2) }])
  t.ok((await metric('tieline_oldest_file_seconds')) > 7_000)
})
