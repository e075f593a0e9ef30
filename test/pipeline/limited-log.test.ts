import { Writable } from 'node:stream'
import { pino } from 'pino'
import t from 'tap'
import { logFailure } from '../../pipeline/failure.js'
import { createLineLimit } from '../../pipeline/limited-log.js'
import { Fault } from '../../schemas/fault.js'

t.test('a failure that an outage repeats is logged once, and each other one too', async (t) => {
  const lines: Record<string, unknown>[] = []
  const write = (line: Buffer, _: unknown, done: () => void) => {
    lines.push(JSON.parse(String(line)))
    done()
  }
  const log = pino(new Writable({ write }))
  for (let arrival = 1; arrival <= 1_000; arrival++) {
    const refused = new Fault('STORE_REFUSED', 'no rights; in: INSERT')
    logFailure(log, { job: 'load', arrival, attempts: arrival % 5 }, refused)
    logFailure(log, { job: 'settle', arrival }, refused)
    logFailure(
      log,
      { job: 'load', arrival },
      new Fault('STORE_UNREACHABLE', 'no rights; in: INSERT'),
    )
    logFailure(log, { job: 'load', arrival }, new Fault('STORE_REFUSED', 'no rights; in: SELECT'))
    logFailure(log, { job: 'load', arrival }, new TypeError(String(arrival)))
  }
  t.match(lines, [
    { job: 'load', arrival: 1, code: 'STORE_REFUSED', msg: 'no rights; in: INSERT' },
    { job: 'settle', arrival: 1, code: 'STORE_REFUSED' },
    { job: 'load', code: 'STORE_UNREACHABLE' },
    { job: 'load', code: 'STORE_REFUSED', msg: 'no rights; in: SELECT' },
    { job: 'load', error: 'TypeError', msg: 'a job failed unexpectedly' },
  ])
  t.equal(lines.length, 5)
})

t.test('equal lines are counted, at growing intervals, and none is left out', async (t) => {
  const limit = createLineLimit()
  const written: [second: number, times: number][] = []
  const see = (second: number, key = 'a') =>
    limit(key, second * 1_000, (times) => written.push([second, times]))
  for (let second = 0; second < 1_000; second += 10) see(second)
  t.same(written.splice(0), [
    [0, 1],
    [60, 6],
    [180, 12],
    [420, 24],
    [900, 48],
  ])
  see(1_100, 'b')
  t.same(
    written.splice(0),
    [
      [990, 9],
      [1_100, 1],
    ],
    'those that are left, when they have ended',
  )
  see(1_200)
  t.same(written, [[1_200, 1]], 'the next one is the first again')
})
