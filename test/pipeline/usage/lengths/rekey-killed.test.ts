import t from 'tap'
import { createLedger } from '../../../../pipeline/ledger/ledger.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { createLineByHand } from '../../by-hand.js'
import { dyingStore } from '../../dying.js'
import { createMeters, hourly, wholeDay } from './meters.js'

const line = await createLineByHand(t)
const { context, takeIn } = line
const { name, send, series, isSound } = createMeters(line)

/** More than a verdict and its attach have. */
const writesMax = 40

t.test('a reader sees reads under one length, whenever the worker dies', async (t) => {
  const meters = Array.from({ length: writesMax }, (_, at) => `N${at + 1}`)
  await send(meters.flatMap((meter) => hourly(meter, 1, [8], 2)))
  await send(meters.flatMap((meter) => hourly(meter, 2, [9], 2)))
  const before = [
    { day: 1, seconds: 900, rows: 1, sum: 2 },
    { day: 2, seconds: 900, rows: 1, sum: 2 },
  ]
  const after = [
    { day: 1, seconds: 3_600, rows: 1, sum: 2 },
    { day: 2, seconds: 3_600, rows: 24, sum: 24 },
  ]
  let isDead = true
  for (let at = 1; isDead && at <= writesMax; at++) {
    const meter = `N${at}`
    t.same(await series(meter), before)
    const arrival = await takeIn(name(), hourly(meter, 2, wholeDay, 1))
    const { mortal, died } = dyingStore(context.store, { at, when: at % 2 ? 'behind' : 'before' })
    const own = { ...context, store: mortal, ledger: createLedger(mortal, context.now) }
    await reconcile(own, arrival).catch(() => undefined)
    isDead = died()
    const seen = JSON.stringify(await series(meter))
    t.ok([before, after].map((one) => JSON.stringify(one)).includes(seen), `write ${at}`)
    await reconcile(context, arrival)
    await settle(context, arrival)
    t.same(await series(meter), after)
  }
  t.notOk(isDead, 'each write was the last one once')
  await isSound(t)
})
