import t from 'tap'
import { compare } from '../../../pipeline/bills/compare/compare.js'
import { compareWhenDue, queueComparisons } from '../../../pipeline/bills/compare/when-due.js'
import { forgetRuns } from '../../../pipeline/bills/forget.js'
import { recordPeriods } from '../../../pipeline/bills/periods.js'
import { billWhenDue, queueDue, queuedMax } from '../../../pipeline/bills/when-due.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { publishSubjects } from '../../../pipeline/ledger/publication.js'
import { customerAt, registeringAt } from '../customers/registering.js'
import { billsOn, later, lineAt as lineOf, noonIn, pattern, restated, schedules } from './due.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
const hourly = { meter: 'one', account: 'A1', seconds: 3_600 }
const january = { from: '2026-01-01T05:00:00Z', quantities: steady('1', 744) }
const period = { cycleId: '7', start: '2026-01-01' }
await rig.publish(schedules)
await rig.register(
  customerAt({ clientId: '1', accountNumber: 'A1', meterId: 'one', rateCode: 'FLAT' }),
)

const lineAt = (at: Date, fails?: Error) => lineOf(rig, at, fails)

async function dueAt(minutes: number) {
  const { line, queued } = lineAt(later(minutes))
  await queueDue(line)
  return queued
}
const runs = () =>
  rig.store.rows<{ start: string; run: string }>({
    sql: `SELECT toString(start_date) AS start, run FROM bill_run ORDER BY run`,
  })
const job = { name: 'bill', v: 1, ...period }

t.test('files of a period that come within some minutes are billed by one run', async (t) => {
  await rig.read({ ...hourly, ...january })
  await rig.publish({ Billing: ['A1,S,one,2026-01-01,2026-01-31,744,744,74.40,,'] })
  t.same(await dueAt(5), [], 'more may come')
  t.same(await dueAt(11), [job], 'and no other period of the cycle, nor another cycle')
  t.same(await dueAt(11), [job], 'a lost job is queued again')
  await billWhenDue(lineAt(later(11)).line, period)
  await billWhenDue(lineAt(later(11)).line, period)
  t.match(await runs(), [{ start: '2026-01-01' }], 'of two jobs one runs')
  t.same(await dueAt(12), [])
})

t.test('a correction sets it going again, and files of other days do not', async (t) => {
  await rig.read({ ...hourly, from: '2025-06-01T04:00:00Z', quantities: ['1'] })
  await rig.read({ meter: 'foreign', from: january.from, quantities: ['1'] })
  t.same(await dueAt(11), [])
  await rig.read({ ...hourly, from: january.from, quantities: ['11'] })
  t.same(await dueAt(11), [job])
  await billWhenDue(lineAt(later(11)).line, period)
  t.match(await rig.bills('toString(total) AS total'), [{ total: '75.4' }])
})

t.test('a run that fails says why, and is tried again later each time', async (t) => {
  await rig.publish({ Billing: ['A1,S,one,2026-01-01,2026-01-31,754,754,75.40,,'] })
  const failing = lineAt(later(11), new Error('no such thing')).line
  await t.rejects(billWhenDue(failing, period), /no such thing/)
  t.same(await dueAt(11.5), [])
  t.same(await dueAt(12.5), [job])
  await t.rejects(billWhenDue(lineAt(later(12.5), new Error('again')).line, period), /again/)
  const states = () =>
    rig.store.rows({
      sql: `SELECT failures, code, dateDiff('second', since, retry_at) AS seconds
        FROM bill_state FINAL WHERE billing_cycle_id = '7' AND start_date = '2026-01-01'`,
    })
  t.match(await states(), [{ failures: 2, code: 'unexpected' }])
  t.same(await dueAt(14), [])
  await billWhenDue(lineAt(later(15)).line, period)
  t.match(await states(), [{ failures: 0 }])
})

t.test('a clock that was ahead when something was written holds nothing up', async (t) => {
  const { line } = lineAt(later(20))
  const failed = { cycleId: '7', first: '2026-01-01', knownAt: 0 }
  const ahead = later(1_000_000).getTime()
  const failure = { failures: 1, code: 'unexpected', detail: '', since: ahead, retryAt: ahead }
  await recordPeriods(rig.store, [failed], failure)
  await rig.read({ ...hourly, from: january.from, quantities: ['21'] })
  t.same(await dueAt(11), [job])
  const named = {
    run: '20990101000000000_ahead',
    billing_cycle_id: '7',
    start_date: '2026-01-01',
    last_date: '2026-01-31',
  }
  await rig.store.insert('bill_run_row', [{ ...named, computed_at: later(1).toISOString() }])
  await publishSubjects({ store: rig.store, now: () => later(1) }, [
    { kind: 'bills', run: named.run },
  ])
  t.same(await rig.bills('total'), [], 'a run of the future counts')
  await billWhenDue(line, period)
  t.match(await rig.bills('toString(total) AS total'), [{ total: '76.4' }], 'the next one more')
})

t.test('of the runs of a period the latest are kept, and nothing of one that died', async (t) => {
  const dead = '20260101000000000_dead'
  await rig.store.insert('bill_plan', [{ run: dead, plan: 1 }])
  await rig.store.insert('bill_row', [{ run: dead, plan: 1 }])
  const before = await rig.bills('* EXCEPT (published_at, published_seq)')
  const latest = (await runs()).at(-1)?.run
  const known = await rig.bill({ start: '2026-01-01', asOf: later(1) })
  await forgetRuns(rig.store, { runsKept: 1, now: new Date() })
  const kept = [latest, known.run].sort()
  for (const table of ['bill_run', 'bill_row', 'bill_plan', 'bill_variance_row']) {
    const found = await rig.store.rows<{ run: string }>({
      sql: `SELECT DISTINCT run FROM ${table} ORDER BY run`,
    })
    t.same(
      found.map(({ run }) => run),
      kept,
      table,
    )
  }
  t.same(await rig.bills('* EXCEPT (published_at, published_seq)'), before)
})

/** The first day of February has passed, and the hours for which reads may be late. */
const february = { early: '2026-02-02T16:59:00Z', due: '2026-02-02T17:00:00Z' }

async function comparedAt(at: string | Date) {
  const { line, queued } = lineAt(new Date(at))
  await queueComparisons(line)
  return queued
}
const comparisonOf = (cycleId: string) => ({ name: 'compare', v: 1, cycleId })
const comparisons = (columns: string) =>
  rig.store.rows<{ run: string }>({ sql: `SELECT ${columns} FROM rate_comparison ORDER BY ALL` })

t.test('the rates of a cycle are compared once for each of its periods', async (t) => {
  t.same(await comparedAt(later(0)), [], 'of the latest that has ended there are no bills')
  t.same(await comparedAt(february.early), [], 'its last reads may come')
  t.same(await comparedAt(february.due), [comparisonOf('7')])
  const failing = lineAt(new Date(february.due), new Error('no such thing')).line
  await t.rejects(compareWhenDue(failing, '7'), /no such thing/)
  t.same(await comparedAt('2026-02-02T17:00:59Z'), [], 'what failed is left alone for a while')
  const state = 'SELECT failures, code, detail FROM comparison_state FINAL'
  const detail = 'unexpected failure: see the worker log, job compare'
  t.same(await rig.store.rows({ sql: state }), [{ failures: 1, code: 'unexpected', detail }])
  const again = '2026-02-02T17:01:00Z'
  t.same(await comparedAt(again), [comparisonOf('7')])
  for (const cycle of ['7', '7', '8']) await compareWhenDue(lineAt(new Date(again)).line, cycle)
  t.same(await rig.store.rows({ sql: state }), [{ failures: 0, code: '', detail: '' }])
  t.same(await comparedAt(again), [])
  const runs = await rig.store.rows({ sql: 'SELECT cycles, last_dates FROM comparison_run' })
  t.same(runs, [{ cycles: ['7'], last_dates: ['2026-01-31'] }], 'of three jobs one runs')
  // 764 kWh at 0.10, or 22 working days of 5 hours at 0.20 and the rest at 0.08.
  t.same(await comparisons('rate_code, toString(total) AS total, is_own'), [
    { rate_code: 'FLAT', total: '76.4', is_own: true },
    { rate_code: 'TOU', total: '74.32', is_own: false },
  ])
})

t.test('a cycle is compared by itself, and what it replaces goes', async (t) => {
  const other = { clientId: '8', accountNumber: 'A8', meterId: 'eight', rateCode: 'FLAT' }
  const customer = customerAt(other)
  const meters = customer.meters.map((one) => ({ ...one, billingCycleId: '8' }))
  await rig.register({ ...customer, meters })
  const compareAt = (at: string, cycleId?: string) =>
    compare(lineAt(new Date(at)).line, cycleId === undefined ? {} : { cycleId })
  const all = await compareAt('2026-02-03T17:00:00Z')
  const own = await compareAt('2026-02-04T17:00:00Z', '7')
  const shown = 'DISTINCT billing_cycle_id AS cycle, run'
  t.same(await comparisons(shown), [
    { cycle: '7', run: own.run },
    { cycle: '8', run: all.run },
  ])
  const last = await compareAt('2026-02-05T17:00:00Z', '8')
  t.same(await comparisons(shown), [
    { cycle: '7', run: own.run },
    { cycle: '8', run: last.run },
  ])
  await rig.register(customer)
  t.same(
    await comparisons(shown),
    [{ cycle: '7', run: own.run }],
    'no meter has the other any more',
  )
  await compareAt('2026-02-06T17:00:00Z', '7')
  const kept = await rig.store.rows<{ run: string }>({
    sql: 'SELECT DISTINCT run FROM rate_comparison_row ORDER BY run',
  })
  t.same(kept.length, 2, 'the latest and the one before')
  await t.rejects(
    compareAt('2026-02-06T17:00:00Z', '99'),
    /nothing of cycle "99" to compare; the cycles of registered meters are "7"/,
  )
})

t.test('the bills of an open period are due once a day', async (t) => {
  const dueOn = async (at: string) => {
    const { line, queued } = lineAt(new Date(at))
    await queueDue(line)
    return queued
  }
  const open = { name: 'bill', v: 1, cycleId: '7', start: '2026-07-01' }
  t.same(await dueOn('2026-07-10T11:59:00Z'), [], 'from eight o clock on')
  t.same(await dueOn('2026-07-10T12:00:00Z'), [open])
  await billWhenDue(lineAt(new Date('2026-07-10T12:00:00Z')).line, open)
  t.same(await dueOn('2026-07-10T20:00:00Z'), [])
  t.same(await dueOn('2026-07-11T12:00:00Z'), [open])
  t.same(await dueOn('2026-08-01T11:59:00Z'), [])
  t.same(await dueOn('2026-08-01T12:00:00Z'), [open], 'and once more when it has ended')
})

t.test('an open period is projected from the weeks before, else from last year', async (t) => {
  const gas = { rateCode: 'GAS', meterType: 'Gas', unitOfMeasure: 'ccf' } as const
  const rates = { tou: {}, year: {}, fresh: {}, gas }
  await rig.register(
    ...Object.entries(rates).map(([meterId, more]) =>
      customerAt({
        clientId: meterId,
        accountNumber: `A${meterId}`,
        meterId,
        rateCode: 'TOU',
        ...more,
      }),
    ),
  )
  await rig.read({ meter: 'tou', ...pattern('2026-04-01', 50) })
  const daily = { meter: 'gas', seconds: 86_400, commodity: 'Gas' as const }
  await rig.read({ ...daily, from: '2026-04-01T04:00:00Z', quantities: steady('2', 50) })
  for (const meter of ['year', 'fresh']) await rig.read({ meter, ...pattern('2026-05-01', 2) })
  await rig.read({ meter: 'year', ...pattern('2025-05-04', 29) })
  const early = await billsOn(rig, '2026-05-03')
  const projected = { status: 'projected', actual: 2, projected: 29, completeness: 1 }
  t.match(early.bills, {
    tou: { ...projected, method: 'recent' },
    year: { ...projected, method: 'lastYear' },
    gas: { ...projected, method: 'recent', quantity: '62', total: '55.8' },
    fresh: { status: 'notProjectable', method: 'none', total: null },
  })
  t.match(early.reasons, [
    { status: 'notProjectable', reason: /^the days ahead cannot be projected: fewer than 7 / },
  ])
  const late = await billsOn(rig, '2026-05-21')
  t.match(late.bills['tou'], { ...projected, actual: 20, projected: 11 })
  await rig.read({ meter: 'tou', ...pattern('2026-05-21', 11) })
  const { quantity, total } = late.bills['tou'] as { quantity: string; total: string }
  const ended = (await billsOn(rig, '2026-06-01')).bills['tou']
  const same = { status: 'computed', actual: 31, projected: 0, method: '', quantity, total }
  t.match(ended, same, 'what goes on as before comes to what was projected')
  t.match(early.bills['tou'], { quantity, total })
})

t.test('only a bill without projected days can be restated', async (t) => {
  t.same(await restated(rig), [])
  await rig.read({ meter: 'gas', seconds: 86_400, from: '2026-05-01T04:00:00Z', quantities: ['3'] })
  await billsOn(rig, '2026-06-02')
  t.same(await restated(rig), [{ meter: 'gas', old: '40', new: '41' }])
})

t.test('late registrations and changed rates are billed again the next day', async (t) => {
  const starts = async (minutes: number) =>
    (await dueAt(minutes)).map((one) => (one as { start: string }).start)
  const billAll = async (minutes: number) => {
    for (const start of await starts(minutes)) {
      await billWhenDue(lineAt(later(minutes)).line, { cycleId: '7', start })
    }
    t.same(await starts(minutes + 1), [])
  }
  const all = ['2026-07-01', '2026-05-01', '2026-01-01']
  await billAll(noonIn(2))
  t.same(await starts(noonIn(3)), [])
  await rig.publish({ RateFlat: ['FLAT,0.2,2025-01-01,,'] }, later(noonIn(3)))
  t.same(await starts(noonIn(3) + 20), all)
  await billAll(noonIn(3) + 20)
  t.same(await starts(noonIn(4)), [])
  const two = customerAt({ clientId: '2', accountNumber: 'A2', meterId: 'two', rateCode: 'FLAT' })
  await register(
    registeringAt(rig.store, () => later(noonIn(4))),
    [two],
  )
  t.same(await starts(noonIn(4) + 1), all)
})

t.test('of many periods that are due some are queued at a look, the latest first', async (t) => {
  const days = Array.from({ length: queuedMax + 4 }, (_, at) => {
    const month = `${2024 + Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, '0')}`
    return `7,${month}-01,${month}-28`
  })
  await rig.publish({ BillingCycles: days })
  const reads = days.map((one) => `${one.slice(2, 12)}T12:00:00Z`)
  await rig.readAll(reads.map((from) => ({ ...hourly, from, quantities: ['1'] })))
  const queued = (await dueAt(11)) as readonly { start: string }[]
  t.same(
    queued.map(({ start }) => start),
    days
      .map((one) => one.slice(2, 12))
      .reverse()
      .slice(0, queuedMax),
  )
})
