/**
 * # 2. Real meters
 *
 * What: Two years of real electric and gas reads load, and their sums equal what the utility
 * billed.
 * Why: Made-up data has the faults that its author thought of. Real data has clock changes, gaps
 * and odd periods.
 * Try: Load a month of your own meters and compare `sum(quantity)` by billing period with the
 * bills.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../infra/package-root.js'
import { bill } from '../../pipeline/bills/run.js'
import { register } from '../../pipeline/customers/registrations.js'
import { formatQuantity, parseQuantity } from '../../schemas/quantity.js'
import { balance } from '../../schemas/receipt.js'
import { createZone } from '../../schemas/time/zone.js'
import { customerAt, registeringAt } from '../pipeline/customers/registering.js'
import { sample } from '../rig/sample.js'
import { openStory, storyProfile } from './rig/stack.js'
import { writeStandIns } from './rig/stand-in-meters.js'

const names = { Electric: 'ILPC_08022018_Electric.csv', Gas: 'ILPC_08022018_Gas.csv' } as const
const shared = join(packageRoot(import.meta.url), '..', 'shared', 'data', 'real-meters')
const isReal = Object.values(names).every((name) => existsSync(join(shared, name)))
const folder = isReal ? shared : mkdtempSync(join(tmpdir(), 'tieline-meters-'))
if (!isReal) t.teardown(() => rmSync(folder, { recursive: true }))

interface Row {
  readonly meter: string
  readonly stamp: string
  readonly micros: bigint
}

function read(name: string): readonly Row[] {
  const lines = readFileSync(join(folder, name), 'utf8').trimEnd().split(/\r?\n/).slice(1)
  return lines.map((line) => {
    const [, , meter = '', stamp = '', quantity = ''] = line.split(',')
    return { meter, stamp, micros: parseQuantity(quantity)?.micros ?? 0n }
  })
}

const total = (rows: readonly Row[]) =>
  formatQuantity(rows.reduce((sum, row) => sum + row.micros, 0n))

if (!isReal) await writeStandIns(folder, names)
t.comment(isReal ? 'the real meters' : 'generated files replace the real meters')
const electric = read(names.Electric)
const gas = read(names.Gas)
/** The rows that a later row of their meter and stamp follows: the repeated hour's first ones. */
const last = new Map(electric.map((row, index) => [`${row.meter} ${row.stamp}`, index]))
const repeated = electric.filter((row, index) => last.get(`${row.meter} ${row.stamp}`) !== index)

const zoned = { companyCodes: ['ILPC'], timeZone: 'America/Chicago' }
const story = await openStory(t, { profile: zoned })

t.test('all daily gas reads load, and their energy adds up to the file', async (t) => {
  const receipt = await story.load(join(folder, names.Gas))
  if (isReal) t.equal(receipt.rows.read, 1_618, 'as many as were announced')
  t.match(receipt, {
    status: 'published',
    feed: 'Gas',
    rows: { read: gas.length, accepted: gas.length, duplicate: 0, superseded: 0, rejected: 0 },
    quantity: { read: total(gas), accepted: total(gas) },
    meters: 2,
    firstIntervalStart: '2015-11-22T06:00:00.000Z',
    lastIntervalEnd: '2018-02-08T06:00:00.000Z',
  })
  t.ok(balance(receipt))
})

t.test('each gas read stands on its own local day, summer and winter', async (t) => {
  const [found] = await story.reader.rows({
    sql: `SELECT count() AS days, toString(min(local_day)) AS first, toString(max(local_day)) AS last,
        countIf(toDate(toTimeZone(starts_at, 'America/Chicago')) != local_day) AS displaced,
        countIf(toHour(toTimeZone(starts_at, 'America/Chicago')) != 0) AS not_midnight,
        countIf(intervals_expected != 1 OR intervals_present != 1) AS gaps, any(unit) AS unit
      FROM usage AS u
      INNER JOIN usage_day AS d USING (meter_id, local_day)
      WHERE u.meter_id = 'G771204'`,
  })
  t.same(found, {
    days: '809',
    first: '2015-11-22',
    last: '2018-02-07',
    displaced: '0',
    not_midnight: '0',
    gaps: '0',
    unit: 'ccf',
  })
})

t.test('every electric row is there, both rows of the repeated hour included', async (t) => {
  const receipt = await story.load(join(folder, names.Electric))
  if (isReal) t.equal(receipt.rows.read, 38_834, 'as many as were announced')
  t.equal(repeated.length, 4, 'two meters and two autumns')
  t.match(receipt, {
    status: 'published',
    feed: 'Electric',
    rows: { read: electric.length, accepted: electric.length, duplicate: 0, rejected: 0 },
    quantity: { read: total(electric), accepted: total(electric) },
    meters: 2,
    firstIntervalStart: '2015-11-22T06:00:00.000Z',
    timestampFormat: 'M/D/YYYY H:MM',
    dateOrder: 'MDY',
    repeatedHourRows: 8,
  })
  t.match(receipt.dateOrderProof, /above 12/)
  t.ok(balance(receipt))
  const [found] = await story.reader.rows({
    sql: `SELECT count() AS rows, toString(sum(quantity)) AS quantity,
      toString(uniqExact(meter_id, starts_at)) AS reads FROM usage WHERE commodity = 'Electric'`,
  })
  const count = String(electric.length)
  t.same(found, { rows: count, quantity: total(electric), reads: count })
})

t.test('on 6 November 2016 the rows of 1:00 are 06:00 and 07:00 UTC, in file order', async (t) => {
  const found = await story.reader.rows<{ at: string; quantity: string }>({
    sql: `SELECT toString(starts_at) AS at, toString(quantity) AS quantity FROM usage
    WHERE meter_id = '5532879' AND local_day = '2016-11-06' AND local_hour = 1 ORDER BY starts_at`,
  })
  const sent = electric.filter((row) => row.meter === '5532879' && row.stamp === '11/6/2016 1:00')
  t.same(found, [
    { at: '2016-11-06 06:00:00', quantity: formatQuantity(sent[0]?.micros ?? 0n) },
    { at: '2016-11-06 07:00:00', quantity: formatQuantity(sent[1]?.micros ?? 0n) },
  ])
})

t.test('a day of a clock change expects 23 or 25 hours, every other day 24', async (t) => {
  const days = await story.reader.rows({
    sql: `SELECT toString(local_day) AS day, intervals_expected AS expected,
        intervals_present AS present
      FROM usage_day WHERE meter_id = '5532879' AND local_day < '2018-02-08'
        AND (intervals_expected != 24 OR intervals_present != 24) ORDER BY local_day`,
  })
  t.same(days, [
    { day: '2016-03-13', expected: 23, present: 23 },
    { day: '2016-11-06', expected: 25, present: 25 },
    { day: '2017-03-12', expected: 23, present: 23 },
    { day: '2017-11-05', expected: 25, present: 25 },
  ])
})

t.test('daily sums are those of the file', async (t) => {
  const found = await story.reader.rows<{ day: string; quantity: string }>({
    sql: `SELECT concat(toMonth(local_day), '/', toDayOfMonth(local_day), '/', toYear(local_day)) AS day,
        toString(quantity) AS quantity
      FROM usage_day WHERE meter_id = '5541903' ORDER BY local_day`,
  })
  const sums = new Map<string, bigint>()
  for (const row of electric) {
    if (row.meter !== '5541903') continue
    const [day = ''] = row.stamp.split(' ')
    sums.set(day, (sums.get(day) ?? 0n) + row.micros)
  }
  t.equal(found.length, sums.size)
  const wrong = found.filter(({ day, quantity }) => {
    const sum = sums.get(day)
    return sum === undefined || formatQuantity(sum) !== quantity
  })
  t.same(wrong, [])
})

if (isReal) {
  t.test('the sums over the billing periods are the billed quantities', async (t) => {
    const rows = readFileSync(join(folder, 'ILPC_08022018_Billing.csv'), 'utf8')
      .trimEnd()
      .split(/\r?\n/)
      .slice(1)
    for (const row of rows) {
      const [, , meter, start, end, billed] = row.split(',')
      const isGas = meter?.startsWith('G') === true
      const window = isGas
        ? 'local_day BETWEEN {start:Date} AND {end:Date}'
        : `starts_at >= toDateTime({start:String} || ' 06:00:00', 'UTC')
            AND starts_at < toDateTime({end:String} || ' 06:00:00', 'UTC') + INTERVAL 1 DAY`
      const [sum] = await story.reader.rows<{ quantity: number }>({
        sql: `SELECT toFloat64(sum(quantity)) AS quantity FROM usage
          WHERE meter_id = {meter:String} AND ${window}`,
        parameters: { meter, start, end },
      })
      const difference = Math.abs((sum?.quantity ?? 0) - Number(billed))
      if (difference > (isGas ? 0.6 : 0.3)) t.fail(`${meter} ${start}: off by ${difference}`)
    }
    t.equal(rows.length, 104, 'as many as were announced')
  })
}

/** Of four cycles in turn, 26 months each; both ends belong to a period. */
function monthlyRows(toRow: (cycle: number, first: string, last: string) => string) {
  return Array.from({ length: 104 }, (_, at) => {
    const [cycle, month] = [Math.floor(at / 26) + 1, at % 26]
    const day = (plus: number, of: number) => new Date(Date.UTC(2015, 11 + month + plus, of))
    return toRow(cycle, day(0, 1).toISOString().slice(0, 10), day(1, 0).toISOString().slice(0, 10))
  })
}

const standIns = {
  Billing: [
    'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate',
    ...monthlyRows(
      (cycle, first, last) =>
        `91002008757${cycle},S${cycle},M${cycle},${first},${last},725.1,725.1,,,`,
    ),
  ],
  BillingCycles: [
    'BillingCycleID,StartDate,EndDate',
    ...monthlyRows((cycle, first, last) => `${cycle},${first},${last}`),
  ],
} as const

t.test('their bills and their cycles load whole', async (t) => {
  for (const [feed, rows] of Object.entries(standIns)) {
    const name = `ILPC_08022018_${feed}.csv`
    const receipt = isReal
      ? await story.load(join(folder, name))
      : await story.loadBytes(name, `${rows.join('\n')}\n`)
    t.match(receipt, { status: 'published', feed, rows: { read: 104, accepted: 104 } })
  }
  const bills = await story.reader.rows({ sql: 'SELECT * FROM billing_period' })
  const cycles = await story.reader.rows({
    sql: 'SELECT * FROM billing_cycle WHERE last_date = end_date',
  })
  t.same([bills.length, cycles.length], [104, 104], 'both ends belong to a period')
})

if (isReal) {
  t.test('computed quantities match the billed ones in every period', async (t) => {
    const rowsOf = (feed: string) =>
      readFileSync(join(folder, `ILPC_08022018_${feed}.csv`), 'utf8')
        .trimEnd()
        .split(/\r?\n/)
        .slice(1)
        .map((row) => row.split(','))
    const sites = new Map(
      rowsOf('Billing').map(([accountNumber = '', externalSiteId = '', meterId = '']) => [
        meterId,
        { clientId: accountNumber, accountNumber, externalSiteId, meterId },
      ]),
    )
    const cycles = [...sites.values()].map((at, index) => ({ ...at, cycleId: String(index + 1) }))
    await register(
      registeringAt(story.store),
      cycles.map(({ cycleId, ...at }) => {
        const isGas = at.meterId.startsWith('G')
        const gas = { meterType: 'Gas', unitOfMeasure: 'ccf' } as const
        const customer = customerAt({ ...at, ...(isGas && gas) })
        const meters = customer.meters.map((one) => ({ ...one, billingCycleId: cycleId }))
        return { ...customer, meters }
      }),
    )
    const profile = storyProfile({ profile: { ...zoned, billing: { periodClock: 'standard' } } })
    const zone = createZone(profile.timeZone)
    const context = { store: story.store, profile, zone, now: () => new Date() }
    const all = rowsOf('BillingCycles')
    const holding = (day: string) =>
      all.filter(([, first = '', last = '']) => first <= day && day <= last)
    // Of each meter a month of both clock changes and one of summer.
    const some = ['2016-07-15', '2016-11-06', '2017-03-12'].flatMap(holding)
    const periods = sample({ short: some, long: all })
    await Promise.all(
      cycles.map(async ({ cycleId }) => {
        const starts = periods.filter(([cycle]) => cycle === cycleId)
        for (const [, start = ''] of starts) await bill(context, { cycleId, start })
      }),
    )
    const found = await story.reader.rows({
      sql: `SELECT quantity_status AS quantity, cost_status AS cost, toString(count()) AS periods
        FROM bill_variance GROUP BY quantity, cost`,
    })
    t.same(found, [{ quantity: 'match', cost: 'notBilled', periods: String(periods.length) }])
  })
}
