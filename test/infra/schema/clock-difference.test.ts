import t from 'tap'
import { findClockDifference } from '../../../infra/schema/clock-difference.js'
import { migratedStore } from '../../pipeline/customers/registering.js'

const store = await migratedStore(t)
const minuteMs = 60_000
const byMinutes = (minutes: number) => () => Date.now() + minutes * minuteMs

t.test('a clock that differs from that of ClickHouse is reported with both times', async (t) => {
  t.equal(await findClockDifference(store), undefined)
  t.equal(await findClockDifference(store, byMinutes(0.5)), undefined, 'clocks drift')
  t.match(
    await findClockDifference(store, byMinutes(-3 * 24 * 60)),
    /^the clock of this machine \(\S+Z\) is 4320 minutes behind that of ClickHouse \(\S+Z\)$/,
  )
  t.match(await findClockDifference(store, byMinutes(180)), / 180 minutes ahead of /)
})

t.test('an answer that takes long is not a difference', async (t) => {
  const times = [Date.now() - 5 * minuteMs, Date.now() + 5 * minuteMs]
  t.equal(await findClockDifference(store, () => times.shift() ?? 0), undefined)
})
