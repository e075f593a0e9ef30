import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { createReadLanes, createTurns } from '../../../api/reads/lanes.js'

/** A read that lasts until `end` is called. */
function createRead() {
  let end: (value: string) => void = () => undefined
  const ended = new Promise<string>((resolve) => {
    end = resolve
  })
  return { run: () => ended, end: () => end('done') }
}

t.test('reads wait for a lane in order, and not for ever', async (t) => {
  const inLane = createReadLanes({ lanes: 1, waitMsMax: 2_000 })
  const [first, second] = [createRead(), createRead()]
  const running = inLane(first.run)
  const waiting = inLane(second.run)
  const late = inLane(createRead().run)
  await sleep(20)
  first.end()
  t.equal(await running, 'done')
  await t.rejects(late, { code: 'OVERLOAD', retry: true }, 'the lane is the second one’s')
  second.end()
  t.equal(await waiting, 'done')
  t.equal(await inLane(async () => 'free'), 'free')
})

t.test('only so many reads wait, and a failed one frees its lane', async (t) => {
  const inLane = createReadLanes({ lanes: 1, waitMsMax: 60_000 })
  const first = createRead()
  const running = inLane(first.run)
  const waiting = Array.from({ length: 25 }, () => inLane(async () => 'later'))
  await t.rejects(
    inLane(async () => 'never'),
    { code: 'OVERLOAD' },
  )
  first.end()
  await running
  t.same(new Set(await Promise.all(waiting)), new Set(['later']))
  await t.rejects(inLane(() => Promise.reject(new Error('broken'))))
  t.equal(await inLane(async () => 'free'), 'free')
})

t.test(
  'a customer has so many requests at the same time, and others are not concerned',
  async (t) => {
    const enter = createTurns(1)
    const leave = enter('anna')
    t.equal(enter('anna'), undefined)
    t.ok(enter('bert'))
    leave?.()
    t.ok(enter('anna'))
  },
)
