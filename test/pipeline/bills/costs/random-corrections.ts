import type { Draw } from '../independent/draw.js'
import type { Frame } from '../independent/frames.js'
import type { RandomMeter, RandomRead } from '../independent/random-customers.js'
import { dayOf, daySeconds, type WallCalendar } from '../independent/wall-calendar.js'
import type { Reads } from '../rig.js'

/** What a later file says of a meter: reads of one length, repeated ones with other values. */
export interface Correction {
  readonly meter: RandomMeter
  readonly what: string
  readonly seconds: number
  readonly reads: readonly RandomRead[]
}

interface CorrectionDraw {
  readonly meter: RandomMeter
  readonly frame: Frame
  readonly calendar: WallCalendar
}

type Kind = (draw: Draw, one: CorrectionDraw) => Pick<Correction, 'seconds' | 'reads'>

/** A day of the frame, the one before or the one after. */
const anyDay = (draw: Draw, { first, last }: Frame) =>
  dayOf(first) - 1 + draw.below(dayOf(last) - dayOf(first) + 3)

/** Reads of a day at a length, with values of their own. */
function dayOfReads(draw: Draw, { meter, frame, calendar }: CorrectionDraw, seconds: number) {
  const day = anyDay(draw, frame)
  const start = calendar.startOf(day)
  const count =
    seconds === daySeconds ? 1 : Math.floor((calendar.startOf(day + 1) - start) / seconds)
  const { account } = draw.pick(meter.records)
  return Array.from({ length: count }, (_, at) => ({
    instant: start + at * seconds,
    account,
    thousandths: draw.below(900 * (seconds / 900)),
  }))
}

const shorterThan = (seconds: number) => (seconds === daySeconds ? [900, 3_600] : [900])

const kinds: Readonly<Record<string, Kind>> = {
  values: (draw, { meter }) => ({
    seconds: meter.seconds,
    reads: Array.from({ length: 1 + draw.below(8) }, () => ({
      ...(draw.pick(meter.reads) as RandomRead),
      thousandths: draw.below(40_000) - 4_000,
    })),
  }),
  wholeDay: (draw, one) => ({
    seconds: one.meter.seconds,
    reads: dayOfReads(draw, one, one.meter.seconds),
  }),
  zeros: (draw, { meter }) => ({
    seconds: meter.seconds,
    reads: meter.reads.filter(() => draw.chance(10)).map((read) => ({ ...read, thousandths: 0 })),
  }),
  otherAccount: (draw, { meter }) => {
    const account = draw.pick([...meter.records.map((record) => record.account), '', 'UNKNOWN'])
    const from = draw.below(meter.reads.length)
    const some = meter.reads.slice(from, from + 1 + draw.below(120))
    return { seconds: meter.seconds, reads: some.map((read) => ({ ...read, account })) }
  },
  finer: (draw, one) => {
    const seconds = draw.pick(shorterThan(one.meter.seconds))
    const reads = dayOfReads(draw, one, seconds)
    const account = draw.chance(80) ? {} : { account: 'UNKNOWN' }
    const some = draw.chance(50) ? reads : reads.slice(draw.below(reads.length))
    return { seconds, reads: some.map((read) => ({ ...read, ...account })) }
  },
  daily: (draw, one) => ({ seconds: daySeconds, reads: dayOfReads(draw, one, daySeconds) }),
}

/** A later file of some of the meters. */
export function drawCorrections(
  draw: Draw,
  meters: readonly RandomMeter[],
  { frames, calendar }: { frames: readonly Frame[]; calendar: WallCalendar },
): readonly Correction[] {
  return meters.flatMap((meter) => {
    if (draw.chance(15) || meter.reads.length === 0) return []
    const { cycle } = draw.pick(meter.records)
    const frame = frames.find((one) => one.cycle === cycle) as Frame
    const what = draw.pick(Object.keys(kinds))
    const found = (kinds[what] as Kind)(draw, { meter, frame, calendar })
    return found.reads.length === 0 ? [] : [{ meter, what, ...found }]
  })
}

/** Reads as a file of one commodity has them, those that follow each other as one. */
export function toReads({ meter, seconds, reads }: Omit<Correction, 'what'>): readonly Reads[] {
  const runs: (Reads & { quantities: string[]; next: number })[] = []
  for (const { instant, account, thousandths } of reads) {
    const quantity = (thousandths / 1_000).toFixed(3)
    const last = runs.at(-1)
    if (last?.next === instant && last.account === account) {
      last.quantities.push(quantity)
      last.next += seconds
    } else {
      const from = new Date(instant * 1_000).toISOString()
      const commodity = meter.gas ? ('Gas' as const) : ('Electric' as const)
      const run = { meter: meter.meter, account, from, seconds, commodity }
      runs.push({ ...run, quantities: [quantity], next: instant + seconds })
    }
  }
  return runs
}
