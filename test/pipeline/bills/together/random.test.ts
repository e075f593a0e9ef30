import t from 'tap'
import { bill, billTogether } from '../../../../pipeline/bills/run.js'
import { fromDays, toDays } from '../../../../schemas/lint/finding.js'
import { runs } from '../../../rig/sample.js'
import { createDrawOf, type Draw } from '../independent/draw.js'
import { drawTariffs } from '../independent/random-tariffs.js'
import { createWallCalendar } from '../independent/wall-calendar.js'
import { rateFilesOf } from '../independent/written-files.js'
import { billRig, type Reads, timeZone } from '../rig.js'
import { seenOf } from './seen.js'

/** What random cycles of the same days come to must not depend on whether they are computed together. */
const firstSeed = Number(process.argv[2] ?? Date.now() & 0xffffff)
const rig = await billRig(t)

interface RandomPeriod {
  readonly first: string
  readonly last: string
  /** The day on which it is computed. */
  readonly today: string
}

const periods: readonly RandomPeriod[] = [
  { first: '2026-01-01', last: '2026-01-31', today: '2026-02-20' },
  { first: '2026-02-20', last: '2026-03-21', today: '2026-04-20' },
  { first: '2026-03-01', last: '2026-03-31', today: '2026-03-12' },
  { first: '2026-06-20', last: '2026-07-20', today: '2026-07-02' },
  { first: '2026-02-25', last: '2026-03-24', today: '2026-03-01' },
]

const { startOf } = createWallCalendar(timeZone)

interface RandomMeter {
  readonly meterId: string
  readonly accountNumber: string
  readonly clientId: string
  readonly unitOfMeasure: string
  readonly seconds: number
  /** From which day on it has a cycle and a rate. */
  readonly codes: readonly { day: number; billingCycleId: string; rateCode: string }[]
}

const cyclesOf = (prefix: string) => ['1', '2', '3', '4'].map((one) => `${prefix}C${one}`)
const longAgo = toDays('2025-06-01')

/** The meters of one account, or of clients without an account: in one cycle, in several or from one to another. */
function drawAccount(
  draw: Draw,
  prefix: string,
  { at, period }: { at: number; period: RandomPeriod },
) {
  const cycles = cyclesOf(prefix)
  const [first, last] = [toDays(period.first), toDays(period.last)]
  const rate = draw.pick(['R0', 'R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'R7'])
  const isUnnamed = draw.chance(15)
  const accountNumber = isUnnamed ? '' : `${prefix}A${at}`
  return Array.from({ length: 1 + draw.below(3) }, (_, nth): RandomMeter => {
    const codes = [{ day: longAgo, billingCycleId: draw.pick(cycles), rateCode: rate }]
    let day = first + draw.below(10) - 2
    while (draw.chance(35) && day <= last) {
      const rateCode = draw.chance(30) ? draw.pick(['R1', 'R2', 'R4', 'R6']) : rate
      codes.push({ day, billingCycleId: draw.pick(cycles), rateCode })
      day += 1 + draw.below(12)
    }
    const unitOfMeasure = draw.pick(['kWh', 'kWh', 'kWh', 'Wh'])
    const seconds = draw.pick([900, 900, 900, 3_600, 86_400])
    const meterId = `${prefix}M${at}-${isUnnamed ? 0 : nth}`
    const clientId = isUnnamed ? `${prefix}c${at}-${nth}` : `${prefix}c${at}`
    return { meterId, accountNumber, clientId, unitOfMeasure, seconds, codes }
  })
}

/** Registers the records of all clients in the order of their days. */
async function registerAll(meters: readonly RandomMeter[]): Promise<void> {
  const days = new Set(meters.flatMap(({ codes }) => codes.map(({ day }) => day)))
  for (const day of [...days].sort((a, b) => a - b)) {
    const changed = new Set(
      meters
        .filter(({ codes }) => codes.some((one) => one.day === day))
        .map(({ clientId }) => clientId),
    )
    const customers = [...changed].map((clientId) => ({
      clientId,
      acctStatus: 'A',
      meters: meters
        .filter((one) => one.clientId === clientId)
        .map(({ meterId, accountNumber, unitOfMeasure, codes }) => {
          const { day: _, ...own } = codes.findLast((one) => one.day <= day) ?? (codes[0] as never)
          const meter = { accountNumber, externalSiteId: 'S', meterId, unitOfMeasure }
          return { ...meter, ...own, meterType: 'Electric' as const, isAMI: true }
        }),
    }))
    await rig.registerAt(new Date((startOf(day) + 43_200) * 1_000).toISOString(), ...customers)
  }
}

/** Reads up to the end of the period or to some day before today, with gaps. */
function drawReads(draw: Draw, one: RandomMeter, period: RandomPeriod): readonly Reads[] {
  const isOpen = period.today <= period.last
  const from = toDays(period.first) - (isOpen && draw.chance(80) ? 30 : 1)
  const until = isOpen ? toDays(period.today) - draw.pick([1, 1, 1, 3]) : toDays(period.last) + 1
  const gaps = draw.pick([0, 0, 1, 8])
  const size = (1 + draw.below(900)) * (one.unitOfMeasure === 'Wh' ? 1_000 : 1)
  const found: Reads[] = []
  for (let day = from; day <= until; day++) {
    if (draw.chance(gaps)) continue
    const count = one.seconds === 86_400 ? 1 : (startOf(day + 1) - startOf(day)) / one.seconds
    const quantities = Array.from({ length: count - draw.pick([0, 0, 0, gaps > 0 ? 1 : 0]) }, () =>
      ((draw.below(size) + (draw.chance(5) ? 0.333_333 : 0)) / 1_000).toFixed(6),
    )
    const { meterId: meter, accountNumber: account, seconds } = one
    const at = new Date(startOf(day) * 1_000).toISOString()
    found.push({ meter, account, seconds, from: at, quantities })
  }
  return found
}

interface Computed {
  readonly account: string
  readonly meter: string
  readonly first: string
  readonly last: string
  readonly quantity: number
  readonly total: number
}

/** Documents that come to what was computed, to more or less, or to an instalment. */
async function plantBilled(draw: Draw, prefix: string): Promise<void> {
  const computed = await rig.store.rows<Computed>({
    sql: `SELECT account_number AS account, meter_id AS meter, toString(start_date) AS first, toString(last_date) AS last,
        toFloat64(quantity) AS quantity, toFloat64(ifNull(total, 0)) AS total
      FROM projected_bill WHERE startsWith(meter_id, '${prefix}M') AND account != '' ORDER BY ALL`,
  })
  const files = { Billing: [] as string[], PaymentPlans: [] as string[], Invoices: [] as string[] }
  for (const one of computed) {
    if (draw.chance(10)) continue
    const quantity = (one.quantity * draw.pick([1, 1, 1.03, 0.9])).toFixed(3)
    const more = draw.pick([0, 0, 5.25, -7.5, one.total * 0.09, -one.total * 0.3])
    const cost = draw.chance(20) ? '60.00' : (one.total + more).toFixed(2)
    const first = fromDays(toDays(one.first) + draw.pick([0, 0, 1, -1]))
    const last = fromDays(toDays(one.last) + draw.pick([0, 0, 1, -1]))
    if (first > last) continue
    files.Billing.push(
      `${one.account},S,${one.meter},${first},${last},${quantity},${quantity},${cost},,`,
    )
    if (draw.chance(60)) {
      const [number, head] = [`${one.meter}-${one.first}`, `${last},${last}`]
      const tax = more > 0 ? more.toFixed(2) : '1.00'
      files.Invoices.push(
        `${one.account},${number},${head},1,Energy,Energy,${(Number(cost) - Number(tax)).toFixed(2)}`,
        `${one.account},${number},${head},2,${draw.pick(['Tax', 'Fixed'])},Tax,${tax}`,
      )
    }
  }
  for (const account of new Set(computed.map((one) => one.account))) {
    if (draw.chance(40)) {
      files.PaymentPlans.push(
        draw.pick([
          `${account},BudgetBilling,2025-06-01,,60.00,Active`,
          `${account},PaymentArrangement,2025-06-01,,5.25,Active`,
        ]),
      )
    }
  }
  await rig.publish(Object.fromEntries(Object.entries(files).filter(([, rows]) => rows.length > 0)))
}

/** The lines of files without their headers. */
function linesOf(files: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(files).map(([name, text]) => {
      const [, ...lines] = text.trim().split('\n')
      return [name.replace(/^DEMO_\d+_|\.csv$/g, ''), lines]
    }),
  )
}

for (let seed = firstSeed; seed < firstSeed + runs(1, 30); seed++) {
  t.test(`seed ${seed}`, async (t) => {
    const draw = createDrawOf(seed)
    const prefix = `s${seed}`
    const period = draw.pick(periods)
    const cycles = cyclesOf(prefix)
    await rig.publish({
      ...linesOf(rateFilesOf(drawTariffs(draw))),
      BillingCycles: cycles.map((one) => `${one},${period.first},${period.last}`),
    })
    const meters = Array.from({ length: 6 }, (_, at) => at).flatMap((at) =>
      drawAccount(draw, prefix, { at, period }),
    )
    await registerAll(meters)
    await rig.readAll(meters.flatMap((one) => drawReads(draw, one, period)))
    const rules = { tierScope: draw.pick(['meter', 'account']), presentShareMin: 0.5 }
    const now = () => new Date(`${period.today}T17:00:00Z`)
    const context = { ...rig.context(rules), now }
    const apart = async () => {
      for (const cycleId of cycles) await bill(context, { cycleId, start: period.first })
    }
    if (period.today > period.last) {
      await apart()
      await plantBilled(draw, prefix)
    }
    await apart()
    const wanted = await seenOf(rig.store, `startsWith(meter_id, '${prefix}M')`)
    await billTogether(
      context,
      cycles.map((cycleId) => ({ ...period, cycleId, fileId: 'f' })),
    )
    const found = await seenOf(rig.store, `startsWith(meter_id, '${prefix}M')`)
    for (const [view, rows] of Object.entries(wanted)) {
      t.comment(view, rows.length)
      const differing = rows.filter((row) => !found[view]?.includes(row)).slice(0, 3)
      const others = found[view]?.filter((row) => !rows.includes(row)).slice(0, 3)
      t.same(
        { rows: found[view]?.length, differing: others },
        { rows: rows.length, differing },
        `${view} of ${period.first}, ${JSON.stringify(rules)}`,
      )
    }
  })
}
