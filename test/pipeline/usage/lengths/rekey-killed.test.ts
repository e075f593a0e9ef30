import t, { type Test } from 'tap'
import { createLedger } from '../../../../pipeline/ledger/ledger.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { dropStaging } from '../../../../pipeline/store/staging.js'
import { momentsOf, someOf } from '../../../rig/sample.js'
import { createLineByHand } from '../../by-hand.js'
import { createConsumer } from '../../customers/consumer.js'
import { dyingStore } from '../../dying.js'
import { createMeters, hourly, wholeDay } from './meters.js'

const line = await createLineByHand(t)
const { context, takeIn } = line
const { store } = context
const { name, enter, send, series, isSound } = createMeters(line)
const consumer = createConsumer(store)

/** More than a verdict and its attach have. */
const writesMax = 42
const isTried = momentsOf(9, writesMax - 1)
const moments = Array.from({ length: writesMax }, (_, at) => at).filter(isTried)
const metersOf = (prefix: string) => moments.map((at) => `${prefix}${at}`)

interface Killed {
  readonly meters: readonly string[]
  /** The rows that prove the length of a meter. */
  readonly proving: (meter: string) => readonly string[]
  readonly before: readonly object[]
  readonly after: readonly object[]
  /** Whether the staging tables go with the worker, as they do when another server answers next. */
  readonly losesStaging: boolean
}

/** Kills the worker at writes of a verdict; whoever pulls by number must have the same in the end. */
async function killAtEachWrite(t: Test, { meters, proving, ...killed }: Killed): Promise<void> {
  const { before, after, losesStaging } = killed
  await enter(meters)
  await consumer.pull()
  let isDead = true
  for (const [index, at] of moments.entries()) {
    if (!isDead) break
    const meter = meters[index] as string
    t.same(await series(meter), before)
    const arrival = await takeIn(name(), proving(meter))
    const when = at % 2 ? 'before' : 'behind'
    const { mortal, died } = dyingStore(store, { at: at + 1, when })
    const own = { ...context, store: mortal, ledger: createLedger(mortal, context.now) }
    await reconcile(own, arrival).catch(() => undefined)
    isDead = died()
    const seen = JSON.stringify(await series(meter))
    t.ok([before, after].map((one) => JSON.stringify(one)).includes(seen), `write ${at + 1}`)
    await consumer.pull()
    if (losesStaging) await dropStaging(store, arrival)
    await reconcile(context, arrival)
    await settle(context, arrival)
    t.same(await series(meter), after)
    await consumer.pull()
    t.same(await consumer.differences(), [], `who pulls, write ${at + 1}`)
  }
  t.notOk(isDead, 'the last writes were met')
  await isSound(t)
}

async function newReads(t: Test): Promise<void> {
  const meters = metersOf('N')
  for (const [day, hour] of [
    [1, 8],
    [2, 9],
  ] as const) {
    await send(meters.flatMap((meter) => hourly(meter, day, [hour], 2)))
  }
  await killAtEachWrite(t, {
    meters,
    proving: (meter) => hourly(meter, 2, wholeDay, 1),
    before: [
      { day: 1, seconds: 900, rows: 1, sum: 2 },
      { day: 2, seconds: 900, rows: 1, sum: 2 },
    ],
    after: [
      { day: 1, seconds: 3_600, rows: 1, sum: 2 },
      { day: 2, seconds: 3_600, rows: 24, sum: 24 },
    ],
    losesStaging: false,
  })
}

async function nothingNew(t: Test, losesStaging: boolean): Promise<void> {
  const meters = metersOf(losesStaging ? 'L' : 'K')
  for (const hour of [8, 9, 10]) {
    await send(meters.flatMap((meter) => hourly(meter, 1, [hour], 2)))
  }
  await killAtEachWrite(t, {
    meters,
    proving: (meter) => hourly(meter, 1, [8, 9, 10], 2),
    before: [{ day: 1, seconds: 900, rows: 3, sum: 6 }],
    after: [{ day: 1, seconds: 3_600, rows: 3, sum: 6 }],
    losesStaging,
  })
}

const scenes: readonly (readonly [string, (t: Test) => Promise<void>])[] = [
  ['with new reads', newReads],
  ['with nothing new', (t) => nothingNew(t, false)],
  ['with nothing new, and its staging tables go too', (t) => nothingNew(t, true)],
]

for (const [file, check] of someOf(scenes)) {
  t.test(`a reader sees reads under one length, whenever the worker dies: a file ${file}`, check)
}
