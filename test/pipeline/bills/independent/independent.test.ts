import t from 'tap'
import { bill } from '../../../../pipeline/bills/run.js'
import { register } from '../../../../pipeline/customers/registrations.js'
import { sql } from '../../../../pipeline/store/sql.js'
import { createZone } from '../../../../schemas/time/zone.js'
import { sample, someOf } from '../../../rig/sample.js'
import { openStory, storyProfile } from '../../../story/rig/stack.js'
import { registeringAt } from '../../customers/registering.js'
import { costsAddUp } from '../costs.js'
import { createDrawOf } from './draw.js'
import { type ExpectedBill, expectBills, type Terms } from './expected-bills.js'
import { isZero, spelled, zero } from './fraction.js'
import { type Frame, frames } from './frames.js'
import { plantCauses } from './planted-causes.js'
import { customersOn, drawCustomers, type RandomMeter } from './random-customers.js'
import { drawTariffs } from './random-tariffs.js'
import { createWallCalendar } from './wall-calendar.js'
import { billingFilesOf, cycleFile, rateFilesOf, usageFilesOf } from './written-files.js'

const seed = Number(process.argv[2] ?? Date.now() & 0x7fffffff)
t.comment(`seed ${seed}`)
const draw = createDrawOf(seed)
const timeZone = 'America/Detroit'
const calendar = createWallCalendar(timeZone)
const tariffs = drawTariffs(draw)
const count = sample({ short: 6, long: 200 })
const meters = drawCustomers(draw, { count, tariffs, calendar })

const options = {
  profile: {
    timeZone,
    usage: { intervals: { Electric: ['day', 900, 3_600] } },
    billing: { daysBackMax: 1 },
  },
}
const story = await openStory(t, options)

/** How the bills of each frame are computed. */
const rulesOf = new Map(
  frames.map(({ cycle }) => [
    cycle,
    {
      rounding: draw.pick(['line', 'line', 'line', 'total', 'none'] as const),
      untaxed: draw.pick([[], ['Delivery'], ['Energy']]),
      monthDays: draw.pick([30, 30.5]),
      prorateMonths: draw.pick(['odd', 'odd', 'always'] as const),
      tierScope: draw.pick(['meter', 'account'] as const),
      tierLimitRounding: draw.pick(['none', 'none', 'unit'] as const),
      presentShareMin: 0.6,
    },
  ]),
)

/** Those whose bills are compared; the causes of variances are those of all that are closed. */
const billed = someOf(frames, 3, draw.below(frames.length))

t.test('random customers come by the real line', async (t) => {
  for (const files of [rateFilesOf(tariffs), cycleFile(), usageFilesOf(meters, calendar)]) {
    for (const receipt of await story.loadAll(files)) {
      const { feed, status, reason, rows } = receipt
      const found = { status, rejected: rows.rejected }
      t.same(found, { status: 'published', rejected: 0 }, `${feed} ${reason}`)
      if (rows.rejected > 0)
        t.comment(
          await story.store.rows({
            sql: 'SELECT code, detail, raw, count() OVER (PARTITION BY code) AS n FROM rejected_row LIMIT 3',
          }),
        )
    }
  }
  const days = new Map<number, RandomMeter[]>()
  for (const one of meters) {
    for (const { day } of one.records) days.set(day, [...(days.get(day) ?? []), one])
  }
  for (const [day, some] of [...days].sort(([a], [b]) => a - b)) {
    const at = registeringAt(story.store, () => new Date((calendar.startOf(day) + 43_200) * 1_000))
    await register(at, customersOn(some, day))
  }
})

interface FoundBill {
  readonly meter: string
  readonly account: string
  readonly first: string
  readonly last: string
  readonly status: string
  readonly reason: string
  readonly method: string
  readonly projected: number
  readonly quantity: string
  readonly total: string | null
  readonly lines: readonly string[]
}

async function computeFrame(frame: Frame): Promise<readonly FoundBill[]> {
  const profile = storyProfile({
    profile: { ...options.profile, billing: rulesOf.get(frame.cycle) ?? {} },
  })
  const today = `${frame.today ?? '2026-11-22'}T17:00:00Z`
  const context = { store: story.store, profile, zone: createZone(timeZone) }
  const { reasons } = await bill(
    { ...context, now: () => new Date(today) },
    { cycleId: frame.cycle, start: frame.first },
  )
  t.comment(frame.cycle, rulesOf.get(frame.cycle), reasons)
  const bills = await story.reader.rows<Omit<FoundBill, 'lines'>>({
    sql: sql`SELECT meter_id AS meter, account_number AS account, toString(start_date) AS first,
        toString(last_date) AS last, status, reason, method, days_projected AS projected,
        toString(quantity) AS quantity, toString(total) AS total
      FROM projected_bill WHERE billing_cycle_id = ${frame.cycle} ORDER BY meter, first`,
  })
  const lines = await story.reader.rows<{ meter: string; first: string; line: string }>({
    sql: sql`SELECT meter_id AS meter, toString(start_date) AS first,
        concat(kind, ' ', if(kind = 'Energy', component, ''), ' ', name, ' ', toString(tier), ' ',
          ifNull(toString(quantity), '-'), ' ', toString(amount)) AS line
      FROM projected_bill_line WHERE amount != 0 OR ifNull(quantity, 0) != 0`,
  })
  return bills.map((one) => ({
    ...one,
    lines: lines
      .filter(({ meter, first }) => meter === one.meter && first === one.first)
      .map(({ line }) => line)
      .sort(),
  }))
}

function toFound(one: ExpectedBill): Omit<FoundBill, 'reason'> {
  const lines = one.lines
    .filter(({ amount, quantity = zero }) => !isZero(amount) || !isZero(quantity))
    .map(
      (line) =>
        `${line.kind} ${line.component} ${line.name} ${line.tier} ${line.quantity === undefined ? '-' : spelled(line.quantity)} ${spelled(line.amount)}`,
    )
  return {
    ...{ meter: one.meter.meter, account: one.account, first: one.first, last: one.last },
    ...{ status: one.status, method: one.method, projected: one.daysProjected },
    quantity: spelled(one.quantity),
    total: one.total === undefined ? null : spelled(one.total),
    lines: [...lines].sort(),
  }
}

/** Projected energy is kept in millionths, so that a line may fall on the other side of half a cent. */
function isNear(found: Omit<FoundBill, 'reason'>, wanted: Omit<FoundBill, 'reason'>): boolean {
  const within = (a: string | null, b: string | null, most: number) =>
    Math.abs(Number(a) - Number(b)) < most
  const isLineNear = (line: string, other = '') => {
    const [amount, quantity, ...name] = line.split(' ').reverse()
    const [otherAmount, otherQuantity, ...otherName] = other.split(' ').reverse()
    const isSame = quantity === '-' || within(quantity ?? '', otherQuantity ?? '', 0.0005)
    return (
      isSame && name.join() === otherName.join() && within(amount ?? '', otherAmount ?? '', 0.011)
    )
  }
  return (
    JSON.stringify({ ...found, ...loose }) === JSON.stringify({ ...wanted, ...loose }) &&
    within(found.quantity, wanted.quantity, 0.0005) &&
    within(found.total, wanted.total, 0.011) &&
    found.lines.length === wanted.lines.length &&
    found.lines.every((line, at) => isLineNear(line, wanted.lines[at]))
  )
}
const loose = { quantity: '', total: '', lines: [] }

for (const frame of billed) {
  t.test(`bills of ${frame.cycle}, ${frame.first} to ${frame.last}`, async (t) => {
    const found = await computeFrame(frame)
    await costsAddUp(t, story.reader)
    const rules = rulesOf.get(frame.cycle)
    const terms = { ...rules, tariffs, calendar } as Terms
    const expected = expectBills(terms, frame, meters)
    t.comment(`${expected.length} bills`)
    const key = (one: { readonly meter: string; readonly first: string }) =>
      `${one.meter} ${one.first}`
    const byKey = new Map(found.map((one) => [key(one), one]))
    t.same(found.map(key).sort(), expected.map(toFound).map(key).sort(), 'which bills')
    for (const bill of expected) {
      const wanted = toFound(bill)
      const { reason: _, ...own } = byKey.get(key(wanted)) ?? { reason: '' }
      const isProjected = bill.method !== '' && 'lines' in own
      const compared = isProjected && isNear(own, wanted) ? wanted : own
      t.same(compared, wanted, `${bill.meter.what} ${bill.meter.seconds} ${key(wanted)}`)
    }
  })
}

interface FoundCauses {
  readonly meter: string
  readonly first: string
  readonly quantityCauses: Causes
  readonly costCauses: Causes
}
type Causes = Readonly<Record<string, string>>

/** The same but for so little; a cause that is worth no more may be missing. */
function areNear(found: Causes = {}, wanted: Causes, most: number): boolean {
  const names = [...new Set([...Object.keys(found), ...Object.keys(wanted)])]
  return names.every(
    (name) => Math.abs(Number(found[name] ?? 0) - Number(wanted[name] ?? 0)) < most,
  )
}

/** Costs are sent in cents, as utilities bill; quantities as they were used. */
t.test('the causes of variances are those by which bills were made to differ', async (t) => {
  const planted = frames
    .filter(({ today }) => today === undefined)
    .flatMap((frame) => {
      const terms = { ...rulesOf.get(frame.cycle), tariffs, calendar } as Terms
      const bills = expectBills(terms, frame, meters)
      return plantCauses(draw, { terms, frame, bills }).map((one) => ({ ...one, frame }))
    })
  const files = billingFilesOf(planted)
  for (const { feed, status, reason, rows } of await story.loadAll(files)) {
    t.same(
      { status, rejected: rows.rejected },
      { status: 'published', rejected: 0 },
      `${feed} ${reason}`,
    )
  }
  for (const frame of new Set(planted.map(({ frame }) => frame))) await computeFrame(frame)
  const found = await story.reader.rows<FoundCauses>({
    sql: sql`SELECT meter_id AS meter, toString(start_date) AS first,
        mapApply((k, v) -> (k, toString(v)), quantity_causes) AS quantityCauses,
        mapApply((k, v) -> (k, toString(v)), cost_causes) AS costCauses
      FROM bill_variance`,
  })
  t.equal(found.length, planted.length)
  const named = planted.flatMap((one) => Object.keys({ ...one.quantityCauses, ...one.costCauses }))
  t.comment(
    Object.fromEntries(named.map((name) => [name, named.filter((one) => one === name).length])),
  )
  for (const { bill, quantityCauses, costCauses, plan, isNearlySo } of planted) {
    const { meter, first } = bill
    const own = found.find((one) => one.meter === meter.meter && one.first === first)
    const what = `${meter.what} ${meter.meter} ${first} ${bill.account} ${plan}`
    const wanted = { meter: meter.meter, first, quantityCauses, costCauses }
    const isSame =
      isNearlySo &&
      areNear(own?.quantityCauses, quantityCauses, 0.0005) &&
      areNear(own?.costCauses, costCauses, 0.0205)
    t.same(isSame ? wanted : own, wanted, what)
  }
})
