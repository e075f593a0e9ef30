import { pino } from 'pino'
import t from 'tap'
import { forgetRuns } from '../../../pipeline/bills/forget.js'
import { bill } from '../../../pipeline/bills/run.js'
import { billWhenDue, queueDue, queuedMax } from '../../../pipeline/bills/when-due.js'
import { register } from '../../../pipeline/registrations.js'
import { recordPeriod } from '../../../pipeline/stores/bill-periods.js'
import { customerAt } from '../registering.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
const january = { from: '2026-01-01T05:00:00Z', quantities: steady('0.25', 2_976) }
const period = { cycleId: '7', start: '2026-01-01' }
const minuteMs = 60_000
/** Instants behind now, so that what is published here lies in their past. */
const later = (minutes: number) => new Date(Date.now() + minutes * minuteMs)

await rig.publish({
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
})
await rig.register(
  customerAt({ clientId: '1', accountNumber: 'A1', meterId: 'one', rateCode: 'FLAT' }),
)

/** What a worker has, at an instant. */
function lineAt(at: Date, fails?: Error) {
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
      if (fails !== undefined && statement.sql.includes('bill_member_')) throw fails
      return rig.store.command(statement)
    },
  }
  return { line: { ...line, store } as unknown as Parameters<typeof queueDue>[0], queued }
}

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
  await rig.read({ meter: 'one', account: 'A1', ...january })
  await rig.publish({ Billing: ['A1,S,one,2026-01-01,2026-01-31,744,744,74.40,,'] })
  t.same(await dueAt(5), [], 'more may come')
  t.same(await dueAt(11), [job], 'and no other period of the cycle, nor another cycle')
  t.same(await dueAt(11), [job], 'whoever has forgotten it is told again')
  await billWhenDue(lineAt(later(11)).line, period)
  await billWhenDue(lineAt(later(11)).line, period)
  t.match(await runs(), [{ start: '2026-01-01' }], 'of two jobs one runs')
  t.same(await dueAt(12), [])
})

t.test('a correction sets it going again, and files of other days do not', async (t) => {
  await rig.read({ meter: 'one', account: 'A1', from: '2025-06-01T04:00:00Z', quantities: ['1'] })
  await rig.read({ meter: 'foreign', from: january.from, quantities: ['1'] })
  t.same(await dueAt(11), [])
  await rig.read({ meter: 'one', account: 'A1', from: january.from, quantities: ['10.25'] })
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
  await recordPeriod(rig.store, failed, failure)
  await rig.read({ meter: 'one', account: 'A1', from: january.from, quantities: ['20.25'] })
  t.same(await dueAt(11), [job])
  const named = {
    run: '20990101000000000_ahead',
    billing_cycle_id: '7',
    start_date: '2026-01-01',
    last_date: '2026-01-31',
  }
  await rig.store.insert('bill_run', [{ ...named, published_at: later(1).toISOString() }])
  t.same(await rig.bills('total'), [], 'a run of the future counts')
  await billWhenDue(line, period)
  t.match(await rig.bills('toString(total) AS total'), [{ total: '76.4' }], 'the next one more')
})

t.test('of the runs of a period the latest are kept, and nothing of one that died', async (t) => {
  const dead = '20260101000000000_dead'
  await rig.store.insert('bill_plan', [{ run: dead, plan: 1 }])
  await rig.store.insert('bill_row', [{ run: dead, plan: 1 }])
  const before = await rig.bills('* EXCEPT published_at')
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
  t.same(await rig.bills('* EXCEPT published_at'), before)
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

/** Quarter hours from a day of summer on: more on afternoons of working days, less on other days. */
function pattern(day: string, days: number) {
  const from = `${day}T04:00:00Z`
  const quantities = Array.from({ length: days * 96 }, (_, at) => {
    const wall = new Date(Date.parse(from) + at * 900_000 - 4 * 3_600_000)
    const isOff = [0, 6].includes(wall.getUTCDay()) || wall.toISOString().startsWith('2026-05-25')
    if (isOff) return '0.1'
    return wall.getUTCHours() >= 14 && wall.getUTCHours() < 19 ? '0.5' : '0.25'
  })
  return { from, quantities }
}

async function billsOn(day: string) {
  const now = () => new Date(`${day}T16:00:00Z`)
  const { reasons } = await bill({ ...rig.context(), now }, { cycleId: '7', start: '2026-05-01' })
  const found = await rig.store.rows<{ meter: string }>({
    sql: `SELECT meter_id AS meter, status, method, days_actual AS actual, days_projected AS projected,
        completeness, toString(quantity) AS quantity, toString(total) AS total
      FROM projected_bill WHERE start_date = '2026-05-01' AND meter_id != 'one'`,
  })
  return { reasons, bills: Object.fromEntries(found.map(({ meter, ...more }) => [meter, more])) }
}

t.test(
  'the rest of an open period is told by the weeks before, else by the last year',
  async (t) => {
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
    const early = await billsOn('2026-05-03')
    const projected = { status: 'projected', actual: 2, projected: 29, completeness: 1 }
    t.match(early.bills, {
      tou: { ...projected, method: 'recent' },
      year: { ...projected, method: 'lastYear' },
      gas: { ...projected, method: 'recent', quantity: '62', total: '55.8' },
      fresh: { status: 'notProjectable', method: 'none', total: null },
    })
    t.match(early.reasons, [
      { status: 'notProjectable', reason: /^the days ahead cannot be told: .* fewer than 7, / },
    ])
    const late = await billsOn('2026-05-21')
    t.match(late.bills['tou'], { ...projected, actual: 20, projected: 11 })
    await rig.read({ meter: 'tou', ...pattern('2026-05-21', 11) })
    const { quantity, total } = late.bills['tou'] as { quantity: string; total: string }
    const ended = (await billsOn('2026-06-01')).bills['tou']
    const same = { status: 'billed', actual: 31, projected: 0, method: '', quantity, total }
    t.match(ended, same, 'what goes on as before comes to what was projected')
    t.match(early.bills['tou'], { quantity, total })
  },
)

const restated = () =>
  rig.store.rows({
    sql: `SELECT meter_id AS meter, toString(old_quantity) AS old, toString(new_quantity) AS new
      FROM projected_bill_restatement WHERE start_date = '2026-05-01'`,
  })

t.test('a projection is no bill that could be restated, a bill of days behind is', async (t) => {
  t.same(await restated(), [])
  await rig.read({ meter: 'gas', seconds: 86_400, from: '2026-05-01T04:00:00Z', quantities: ['3'] })
  await billsOn('2026-06-02')
  t.same(await restated(), [{ meter: 'gas', old: '40', new: '41' }])
})

/** Minutes until noon in some days. */
function noonIn(days: number): number {
  const day = later(days * 1_440)
    .toISOString()
    .slice(0, 10)
  return (Date.parse(`${day}T17:00:00Z`) - Date.now()) / minuteMs
}

t.test(
  'who registers later, and rates that change, are billed once more the next day',
  async (t) => {
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
    await register({ store: rig.store, now: () => later(noonIn(4)) }, [two])
    t.same(await starts(noonIn(4) + 1), all)
  },
)

t.test('of many periods that are due some are queued at a look, the latest first', async (t) => {
  const days = Array.from({ length: queuedMax + 4 }, (_, at) => {
    const month = `${2024 + Math.floor(at / 12)}-${String((at % 12) + 1).padStart(2, '0')}`
    return `7,${month}-01,${month}-28`
  })
  await rig.publish({ BillingCycles: days })
  for (const one of days) {
    const from = `${one.slice(2, 12)}T12:00:00Z`
    await rig.read({ meter: 'one', account: 'A1', from, quantities: ['1'] })
  }
  const queued = (await dueAt(11)) as readonly { start: string }[]
  t.same(
    queued.map(({ start }) => start),
    days
      .map((one) => one.slice(2, 12))
      .reverse()
      .slice(0, queuedMax),
  )
})
