/**
 * # 13. Bills match
 *
 * What: Bills are computed from usage and rates and equal the published bills to the cent.
 * Why: This is what the data is for: bills that can be analysed, projected and explained.
 * Try: Run `tieline bill --cycle 7`, then `tieline explain --account 910 --period 2026-01-01`.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { billCommand } from '../../infra/commands/bill.js'
import { compareCommand } from '../../infra/commands/compare.js'
import { dictionary } from '../../infra/commands/dictionary.js'
import { explainCommand } from '../../infra/commands/explain.js'
import { status } from '../../infra/commands/status.js'
import { packageRoot } from '../../infra/package-root.js'
import { recordPeriods } from '../../pipeline/bills/periods.js'
import { bill } from '../../pipeline/bills/run.js'
import { register } from '../../pipeline/customers/registrations.js'
import { sql } from '../../pipeline/store/sql.js'
import { createZone } from '../../schemas/time/zone.js'
import { commandContext } from '../infra/command-line.js'
import { customerAt, registeringAt } from '../pipeline/customers/registering.js'
import {
  amountsOf,
  billsByInterval,
  type Case,
  dayMs,
  type Found,
  meterOf,
  own,
  rateHeaders,
} from './rig/bill-case.js'
import { cases, isThere } from './rig/published-bills.js'
import { lookUntil, untilAtWork } from './rig/runs-watched.js'
import { header, openStory, storyProfile, until } from './rig/stack.js'

t.comment(isThere ? 'with the published bills' : 'without the published bills')

const options = {
  profile: {
    timeZone: 'America/Phoenix',
    usage: { intervals: { Electric: ['day', 3_600] } },
    // Nothing is billed or compared unless it is asked for.
    billing: { daysBackMax: 1 },
  },
}
const story = await openStory(t, options)

const file = (...lines: readonly string[]) => `${lines.join('\n')}\n`
/** The customer worked by hand once more, in a cycle of its own; its reads come otherwise. */
const twin: Case = { ...own, rate: 'TWIN' }
const readOfTwin = (read: readonly [string, string]) => `ATWIN,S,${meterOf(twin)},${read.join(',')}`

t.test('rates, cycles, customers and usage come as they come every day', async (t) => {
  const rows = Object.entries(rateHeaders).map(([feed, columns]): [string, string] => {
    const own = cases.flatMap(({ rate, type, rows }) =>
      feed === 'RateCodes'
        ? [`${rate},${rate},${type}`]
        : (rows[feed] ?? []).map((row) => `${rate},${row}`),
    )
    return [`DEMO_01022026_${feed}.csv`, own.length === 0 ? '' : file(columns, ...own)]
  })
  const rates = await story.loadAll(Object.fromEntries(rows.filter(([, text]) => text !== '')))
  const cycles = cases.flatMap(({ rate, periods }) =>
    periods.map((days) => `${rate},${days.join(',')}`),
  )
  const usage = (isDaily: boolean) =>
    cases.flatMap((one) =>
      one.reads
        .filter(([at]) => isDaily !== at.includes(' '))
        .map((read) => `A${one.rate},S,${meterOf(one)},${read.join(',')}`),
    )
  cycles.push('TWIN,2026-01-01,2026-01-31')
  const later = own.reads.slice(15).map(readOfTwin).reverse()
  const earlier = own.reads.slice(0, 15).map(readOfTwin).reverse()
  const other = await story.loadAll({
    'DEMO_01022026_BillingCycles.csv': file('BillingCycleID,StartDate,EndDate', ...cycles),
    'DEMO_01022026_Electric_3.csv': file(header, ...later),
    'DEMO_01022026_Electric_4.csv': file(header, ...earlier),
    'DEMO_01022026_Electric.csv': file(header, ...usage(true)),
    ...(isThere && { 'DEMO_01022026_Electric_2.csv': file(header, ...usage(false)) }),
  })
  for (const { status, feed, rows, reason } of [...rates, ...other] as readonly {
    status: string
    feed: string
    rows: { rejected: number }
    reason?: string
  }[])
    t.match(
      { status, rejected: rows.rejected },
      { status: 'published', rejected: 0 },
      `${feed} ${reason}`,
    )
  await register(
    registeringAt(story.store),
    [...cases, twin].map((one) => {
      const at = { clientId: one.rate, accountNumber: `A${one.rate}`, meterId: meterOf(one) }
      const customer = customerAt({ ...at, rateCode: one === twin ? own.rate : one.rate })
      return {
        ...customer,
        meters: customer.meters.map((m) => ({ ...m, billingCycleId: one.rate })),
      }
    }),
  )
})

function run(one: Case, request: Partial<Parameters<typeof bill>[1]> = {}) {
  const profile = storyProfile({ profile: { ...options.profile, billing: one.rules ?? {} } })
  const context = { store: story.store, profile, zone: createZone(profile.timeZone) }
  return bill({ ...context, now: () => new Date() }, { cycleId: one.rate, ...request })
}

function billsOf(one: Case): Promise<readonly Found[]> {
  return story.reader.rows<Found>({
    sql: `SELECT toString(b.start_date) AS start, toFloat64(any(b.total)) AS total, any(b.status) AS status,
        arrayMap(l -> CAST((l.2, l.3, l.4), 'Tuple(name String, quantity Float64, amount Float64)'),
          arraySort(groupArray((l.line_number, l.name, toFloat64(ifNull(l.quantity, 0)), toFloat64(l.amount))))) AS lines
      FROM projected_bill AS b
      INNER JOIN projected_bill_line AS l ON l.meter_id = b.meter_id AND l.start_date = b.start_date
      WHERE b.meter_id = {meter:String} GROUP BY b.start_date ORDER BY b.start_date`,
    parameters: { meter: meterOf(one) },
    settings: { output_format_json_named_tuples_as_objects: 1 },
  })
}

/** What the months of a meter come to under its own rate. */
const compared = (one: Case) =>
  story.reader.rows<{ rate_code: string; total: string }>({
    sql: sql`SELECT rate_code, total FROM rate_comparison
      WHERE meter_id = ${meterOf(one)} AND is_own`,
  })

/** Runs of different periods do not know of each other. */
const runsAtOnce = 4

t.test('every period is billed by a run of its own', async (t) => {
  const runs = cases.flatMap((one) => one.periods.map(([start]) => ({ one, start })))
  for (let at = 0; at < runs.length; at += runsAtOnce) {
    const some = runs.slice(at, at + runsAtOnce)
    const summaries = await Promise.all(some.map(({ one, start }) => run(one, { start })))
    for (const { bills } of summaries) t.equal((bills.computed ?? 0) + (bills.incomplete ?? 0), 1)
  }
})

for (const one of cases) {
  t.test(`bills under ${one.rate}, and intervals add up to the same`, async (t) => {
    const [wanted, found] = [await billsOf(one), await billsByInterval(story.reader, meterOf(one))]
    for (const bills of [wanted, found]) one.check(bills)
    t.same(found.map(amountsOf), wanted.map(amountsOf), 'to the cent, by line')
    const reads = found.reduce((sum, bill) => sum + bill.reads, 0)
    t.equal(reads, one.reads.length, 'each read has a cost')
  })
}

const rowsOf = (run: string) =>
  story.store.rows({
    sql: 'SELECT * EXCEPT run FROM bill_row WHERE run = {run:String}',
    parameters: { run },
  })

t.test('neither files, their order nor a correction taken back change a bill', async (t) => {
  const before = await run(twin)
  twin.check(await billsOf(twin))
  const last = own.reads.at(-1) ?? ['', '']
  const totals: string[] = []
  for (const [at, quantity] of ['500', last[1]].entries()) {
    const name = `DEMO_02022026_Electric_${at + 2}.csv`
    await story.loadBytes(name, file(header, readOfTwin([last[0], quantity])))
    const { run: id, total } = await run(twin)
    totals.push(total)
    if (at === 1) t.same(await rowsOf(id), await rowsOf(before.run), 'byte for byte')
  }
  t.same(totals, ['205.4', '105.56'])
})

/** 20 kWh on each day; the correction of the last one adds 100 at 20 cents. */
t.test('a correction changes the bill, and not what was known before it came', async (t) => {
  const start = '2026-01-01'
  const before = await run(own, { start })
  const asOf = new Date()
  const correction = `A${own.rate},S,${meterOf(own)},1/31/2026,120`
  const receipt = await story.loadBytes('DEMO_02022026_Electric.csv', file(header, correction))
  t.match(receipt, { status: 'published', restated: { rows: 1, netQuantity: '100' } })
  const after = await run(own, { start })
  const known = await run(own, { start, asOf })
  t.match([before.total, after.total, known.total], ['105.56', '126.36', '105.56'])
  t.same(await rowsOf(known.run), await rowsOf(before.run), 'byte for byte')
  t.match(await billsOf(own), [{ total: 126.36 }], 'the bill in force is that of today')
})

const contextOf = (printed: string[]) =>
  commandContext(story.home.path, (text) => printed.push(text))

t.test('a command computes bills and reports invalid options', async (t) => {
  const printed: string[] = []
  const context = contextOf(printed)
  const json = false
  const asked = { cycle: own.rate, period: '2026-01-01', json }
  t.equal(await billCommand(context, asked), 0)
  t.equal(await explainCommand(context, { account: 'AOWN', period: '2026-01-01', json }), 0)
  t.match(printed, [
    /^cycle OWN, 2026-01-01 to 2026-01-31: 1 of 1 bills, 126.36 dollars in total, .*\nno billed amounts to compare with yet$/,
    /^account AOWN, meter MOWN, cycle OWN\n[\s\S]*computed 126.36\nno billed amount to compare with yet$/,
  ])
  const refused = (more: object) => () => billCommand(context, { ...asked, ...more })
  const wrong: readonly [() => Promise<number>, RegExp][] = [
    [refused({ cycle: '99' }), /^CONFIG: .*cycle 99 .*BillingCycles file/],
    [refused({ period: '1/1/2026' }), /--period 1\/1\/2026 is not a day; write/],
    [refused({ period: '2026-02-30' }), /--period 2026-02-30 is not a day/],
    [refused({ period: '2026-01-02' }), /schedule covers 2026-01-01 to 2026-01-31/],
    [refused({ asOf: '2026-02-05' }), /--as-of 2026-02-05 is not a time/],
    [
      refused({ asOf: '+275760-09-13T00:00:00Z' }),
      /--as-of \+275760-09-13T00:00:00Z is not a time/,
    ],
    [
      () => compareCommand(context, { cycle: '99', json }),
      /^CONFIG: .*nothing of cycle "99" to compare; the cycles of registered meters are/,
    ],
    [
      () => explainCommand(context, { account: 'AOWN', period: '2026-02-30', json }),
      /2026-02-30 is not a day/,
    ],
    [
      () => explainCommand(context, { account: 'AOWN', period: '2026-02-01', json }),
      /begin on 2026-01-01$/,
    ],
    [
      () => explainCommand(context, { account: 'Z', period: '2026-01-01', json }),
      /account Z is not known: .*; use an account_number of the view registration$/,
    ],
  ]
  for (const [command, message] of wrong) await t.rejects(command(), { message })
})

t.test('a person compares the rates of a cycle, and asks what is in the views', async (t) => {
  const printed: string[] = []
  const context = contextOf(printed)
  t.equal(await compareCommand(context, { cycle: 'TWIN', json: false }), 0)
  t.equal(await compareCommand(context, { cycle: 'TWIN', json: true }), 0)
  t.equal(await dictionary(context), 0)
  t.match(printed[0], /^1 meters, \d+ rate codes: \d+ of \d+ comparisons are complete/)
  t.match(printed[0], /\nTWIN +2026-01-01 +2026-01-31 +1$/m)
  t.match(JSON.parse(printed[1] ?? ''), { meters: 1, cycles: [{ cycleId: 'TWIN', periods: 1 }] })
  const page = join(packageRoot(import.meta.url), 'infra', 'schema', 'views', 'dictionary.md')
  const inItsZone = readFileSync(page, 'utf8').trimEnd().replaceAll('Detroit', 'Phoenix')
  t.equal(printed[2], inItsZone, 'the page of the guide')
  t.match(await compared(twin), [{ rate_code: 'OWN', total: '105.56' }])
})

t.test('late reads of an ended period have it billed and compared, whoever dies', async (t) => {
  const daysBack = Math.ceil((Date.now() - Date.parse('2026-01-31')) / dayMs) + 3
  await story.restart({ billing: { quietMinutes: 0, daysBackMax: daysBack } })
  const correction = `A${own.rate},S,${meterOf(own)},1/31/2026,220`
  await story.loadBytes('DEMO_03022026_Electric.csv', file(header, correction))
  // 310 x 0.10 + 510 x 0.20 + 8.50, and 4 %
  const looking = lookUntil(() => billsOf(own), 147.16)
  await untilAtWork(story.store)
  await story.stack.worker.kill()
  await untilAtWork(story.store)
  await story.stack.clickhouse?.kill()
  const totals = ['126.36 of 126.36', '147.16 of 147.16']
  t.same(await looking, totals, 'one or the other, and complete')
  const runs = sql`SELECT toUInt32(count()) AS runs FROM bill_run WHERE total = 147.16`
  t.same(await story.reader.rows({ sql: runs }), [{ runs: 1 }])
  await until(async () => (await compared(own)).length === 1)
})

t.test('status lists the bills of each cycle, and cycles without a period for today', async (t) => {
  const printed: string[] = []
  const context = contextOf(printed)
  const failing = { cycleId: own.rate, first: '2026-01-01', knownAt: 0 }
  const failure = {
    failures: 2,
    code: 'STORE_REFUSED',
    detail: 'why',
    since: 0,
    retryAt: Date.now() + dayMs,
  }
  await recordPeriods(story.store, [failing], failure)
  await status(context, { json: true })
  await status(context, { json: false })
  const bills: readonly object[] = JSON.parse(printed[0] ?? '').bills
  const ownBills = bills.filter((one) => 'cycle' in one && one.cycle === own.rate)
  const period = { first: '2026-01-01', last: '2026-01-31' }
  const none = /no period of cycle OWN for today, and 1 meters have no bill: load a newer/
  t.match(ownBills, [
    { state: 'no period', code: 'NO_PERIOD', detail: none },
    { ...period, state: 'failing', failures: 2, code: 'STORE_REFUSED', detail: 'why' },
    { ...period, state: 'published', billed: '1', bills: '1' },
  ])
  t.match(printed[1], /\ncycle OWN: the schedule has no period/)
})
