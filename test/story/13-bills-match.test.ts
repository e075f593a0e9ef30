import t from 'tap'
import { type BillRequest, bill } from '../../pipeline/bills/run.js'
import { register } from '../../pipeline/registrations.js'
import { createZone } from '../../schemas/zone.js'
import { customerAt } from '../pipeline/registering.js'
import type { Case, Found } from './bill-case.js'
import { cases, isThere } from './published-bills.js'
import { createStory, header, storyProfile } from './stack.js'

t.comment(isThere ? 'with the published bills' : 'without the published bills')

const options = {
  profile: {
    timeZone: 'America/Phoenix',
    usage: { intervals: { Electric: ['day', 3_600] } },
  },
}
const story = await createStory(options)
t.teardown(story.close)

const headers = {
  RateCodes: 'RateCode,Description,RateType',
  RateTou: 'RateCode,Name,Amount,StartHour,EndHour,RateStartDate,RateEndDate,DayType,Component',
  RateTiers:
    'RateCode,Tier,DailyProrateFactor,Amount,RateStartDate,RateEndDate,PeriodLimit,Component',
  RateFlat: 'RateCode,Amount,RateStartDate,RateEndDate,Component',
  RateFixed: 'RateCode,Name,Kind,Basis,Amount,Taxable,RateStartDate,RateEndDate',
} as const
const file = (...lines: readonly string[]) => `${lines.join('\n')}\n`
const meterOf = ({ rate }: Case) => `M${rate}`

t.test('rates, cycles, customers and usage come as they come every day', async (t) => {
  const rows = Object.entries(headers).map(([feed, columns]): [string, string] => {
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
  const other = await story.loadAll({
    'DEMO_01022026_BillingCycles.csv': file('BillingCycleID,StartDate,EndDate', ...cycles),
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
    { store: story.store, now: () => new Date() },
    cases.map((one) => {
      const at = { clientId: one.rate, accountNumber: `A${one.rate}`, meterId: meterOf(one) }
      const customer = customerAt({ ...at, rateCode: one.rate })
      return {
        ...customer,
        meters: customer.meters.map((m) => ({ ...m, billingCycleId: one.rate })),
      }
    }),
  )
})

function run(one: Case, request: Partial<BillRequest> = {}) {
  const profile = storyProfile({ profile: { ...options.profile, billing: one.rules ?? {} } })
  const context = { store: story.store, profile, zone: createZone(profile.timeZone) }
  return bill({ ...context, now: () => new Date() }, { cycleId: one.rate, ...request })
}

async function billsOf(one: Case): Promise<readonly Found[]> {
  const bills = await story.reader.rows<Found>({
    sql: `SELECT toString(b.start_date) AS start, toFloat64(any(b.total)) AS total, any(b.status) AS status,
        arrayMap(l -> CAST((l.2, l.3, l.4), 'Tuple(name String, quantity Float64, amount Float64)'),
          arraySort(groupArray((l.line_number, l.name, toFloat64(ifNull(l.quantity, 0)), toFloat64(l.amount))))) AS lines
      FROM projected_bill AS b
      INNER JOIN projected_bill_line AS l ON l.meter_id = b.meter_id AND l.start_date = b.start_date
      WHERE b.meter_id = {meter:String} GROUP BY b.start_date ORDER BY b.start_date`,
    parameters: { meter: meterOf(one) },
    settings: { output_format_json_named_tuples_as_objects: 1 },
  })
  return bills
}

/** Runs of different periods do not know of each other. */
const runsAtOnce = 4

t.test('every period is billed by a run of its own', async (t) => {
  const runs = cases.flatMap((one) => one.periods.map(([start]) => ({ one, start })))
  for (let at = 0; at < runs.length; at += runsAtOnce) {
    const some = runs.slice(at, at + runsAtOnce)
    const summaries = await Promise.all(some.map(({ one, start }) => run(one, { start })))
    for (const { bills } of summaries) t.equal((bills.billed ?? 0) + (bills.incomplete ?? 0), 1)
  }
})

for (const one of cases) {
  t.test(`bills under ${one.rate}`, async () => one.check(await billsOf(one)))
}
