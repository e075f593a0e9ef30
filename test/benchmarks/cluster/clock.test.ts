import t from 'tap'
import { createClock } from '../../../benchmarks/cluster/clock.js'
import { Fault } from '../../../schemas/fault.js'

const passing = new Fault('STORE_UNREACHABLE', 'drawn')

t.test('a job is tried again for as long as an outage takes', async (t) => {
  const clock = createClock()
  let attempts = 0
  const attempt = async () => {
    attempts++
    clock.tick()
    if (clock.now() < 60_000) throw passing
    return 'done'
  }
  t.equal(await clock.retried(attempt), 'done')
  t.ok(attempts < 15, `${attempts} attempts in a minute`)
})

t.test('a failure that does not pass ends a job at once', async (t) => {
  const refused = new Fault('STORE_REFUSED', 'drawn')
  let attempts = 0
  const attempt = async () => {
    attempts++
    throw refused
  }
  await t.rejects(createClock().retried(attempt), refused)
  t.equal(attempts, 1)
})

t.test('a job that never gets through ends after an hour of the schedule', async (t) => {
  const clock = createClock()
  await t.rejects(
    clock.retried(async () => {
      for (let statements = 0; statements < 1_000; statements++) clock.tick()
      throw passing
    }),
    passing,
  )
  t.ok(clock.now() > 3_600_000)
})
