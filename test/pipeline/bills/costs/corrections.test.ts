import t, { type Test } from 'tap'
import { bill } from '../../../../pipeline/bills/run.js'
import { register } from '../../../../pipeline/customers/registrations.js'
import type { Settings } from '../../../../pipeline/store/clickhouse.js'
import { id, sql } from '../../../../pipeline/store/sql.js'
import { sample, someOf } from '../../../rig/sample.js'
import { registeringAt } from '../../customers/registering.js'
import { costsAddUp } from '../costs.js'
import { createDrawOf } from '../independent/draw.js'
import type { Frame } from '../independent/frames.js'
import { customersOn, drawCustomers, type RandomMeter } from '../independent/random-customers.js'
import { drawTariffs } from '../independent/random-tariffs.js'
import { createWallCalendar } from '../independent/wall-calendar.js'
import { rateFilesOf } from '../independent/written-files.js'
import { billRig, timeZone } from '../rig.js'
import { type Correction, drawCorrections, toReads } from './random-corrections.js'

const seed = Number(process.argv[2] ?? Date.now() & 0x7fffffff)
t.comment(`seed ${seed}`)
const draw = createDrawOf(seed)
const rig = await billRig(t)
const { store } = rig
const calendar = createWallCalendar(timeZone)
const cases = Number(process.argv[3] ?? sample({ short: 6, long: 10_000 }))
const batchSize = 500

/** Short periods with a clock change or new prices, open ones, and two cycles that overlap. */
const allFrames: readonly Frame[] = [
  { cycle: 'SPRING', first: '2026-03-05', last: '2026-03-11' },
  { cycle: 'AUTUMN', first: '2025-10-30', last: '2025-11-06' },
  { cycle: 'OPEN', first: '2026-07-02', last: '2026-07-11', today: '2026-07-08' },
  { cycle: 'OPENA', first: '2025-11-01', last: '2025-11-08', today: '2025-11-05' },
  { cycle: 'EARLY', first: '2026-01-15', last: '2026-01-22' },
  { cycle: 'LATE', first: '2026-01-19', last: '2026-01-25' },
]
/** Each has its bill runs. */
const frames = someOf(allFrames, 2, draw.below(allFrames.length))
const batches = Array.from({ length: Math.ceil(cases / batchSize) }, (_, at) => ({
  prefix: `B${at}-`,
  count: Math.min(batchSize, cases - at * batchSize),
  frames: frames.map((frame) => ({ ...frame, cycle: `${frame.cycle}${at}` })),
}))
type Batch = (typeof batches)[number]

const rulesOf = () => ({
  rounding: draw.pick(['line', 'line', 'total', 'none'] as const),
  untaxed: draw.pick([[], ['Delivery'], ['Energy']]),
  tierScope: draw.pick(['meter', 'account'] as const),
  periodClock: draw.pick(['wall', 'wall', 'standard'] as const),
  presentShareMin: draw.pick([0.1, 0.6]),
})

/** Bills each period as on its day of the frame, or as long after. */
async function billAll({ frames }: Batch, rules: ReadonlyMap<string, object>, isOver: boolean) {
  for (const { cycle, first, today } of frames) {
    const now = () => new Date(`${isOver ? '2026-11-22' : (today ?? '2026-11-22')}T17:00:00Z`)
    await bill({ ...rig.context(rules.get(cycle)), now }, { cycleId: cycle, start: first })
  }
}

async function registerFrom(meters: readonly RandomMeter[], isMeant: (nth: number) => boolean) {
  const days = meters.flatMap(({ records }) =>
    records.filter((_, nth) => isMeant(nth)).map(({ day }) => day),
  )
  for (const day of [...new Set(days)].sort((a, b) => a - b)) {
    const at = new Date((calendar.startOf(day) + 43_200) * 1_000)
    await register(
      registeringAt(store, () => at),
      customersOn(meters, day),
    )
  }
}

async function load(files: readonly Omit<Correction, 'what'>[]): Promise<void> {
  for (const isGas of [false, true]) {
    const reads = files.filter(({ meter }) => meter.gas === isGas).flatMap(toReads)
    if (reads.length > 0) await rig.readAll(reads)
  }
}

/** Tables whose rows of earlier batches would only make each statement longer. */
const growing = ['usage_read', 'bill_row', 'tenancy', 'account_meter']

/** The days of bills, with those without a total, do not rest on what the engine makes of their statement. */
async function daysAreSame(t: Test): Promise<void> {
  const daysBy = (settings: Settings) =>
    store.rows({
      sql: sql`SELECT count() AS days, toString(sum(cityHash64(tuple(*)))) AS hash FROM bill_day`,
      settings,
    })
  t.same(await daysBy({ query_plan_enable_optimizations: 0 }), await daysBy({}))
}

for (const batch of batches) {
  t.test(`costs add up whatever is corrected and when, ${batch.prefix}`, async (t) => {
    for (const table of growing) await store.command({ sql: sql`TRUNCATE TABLE ${id(table)}` })
    const tariffs = drawTariffs(draw)
    for (const [name, text] of Object.entries(rateFilesOf(tariffs))) {
      const feed = name.split('_')[2]?.replace('.csv', '') ?? ''
      await rig.publish({ [feed]: text.trimEnd().split('\n').slice(1) })
    }
    const { prefix, count } = batch
    await rig.publish({
      BillingCycles: batch.frames.map(({ cycle, first, last }) => `${cycle},${first},${last}`),
    })
    const wanted = { count, tariffs, calendar, prefix, frames: batch.frames }
    const meters = drawCustomers(draw, wanted)
    const rules = new Map(batch.frames.map(({ cycle }) => [cycle, rulesOf()]))
    /** Half of the moves become known when their bills are there. */
    const late = meters.filter(() => draw.chance(50))
    const early = meters.filter((meter) => !late.includes(meter))
    await registerFrom(late, (nth) => nth === 0)
    await registerFrom(early, () => true)
    await load(meters.map((meter) => ({ meter, seconds: meter.seconds, reads: meter.reads })))
    await billAll(batch, rules, false)
    await costsAddUp(t, store)
    await daysAreSame(t)
    const correct = () => drawCorrections(draw, meters, { frames: batch.frames, calendar })
    await load(correct())
    await load(correct())
    await costsAddUp(t, store, { areReadsBilled: false })
    await registerFrom(late, (nth) => nth > 0)
    await costsAddUp(t, store, { areReadsBilled: false })
    await billAll(batch, rules, false)
    await costsAddUp(t, store)
    await load(correct())
    await billAll(batch, rules, true)
    await costsAddUp(t, store)
  })
}
