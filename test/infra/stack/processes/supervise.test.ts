import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { type Restart, supervise } from '../../../../infra/stack/processes/supervise.js'
import { until } from '../../../story/rig/stack.js'

const bounds = { readyMsMax: 5_000, stopMsMax: 300, logPath: '/logs/one.log' }
const sleeper = () => spawn('sleep', ['600'], { stdio: 'ignore' })

t.test('a child that ends is started again, with more time between each start', async (t) => {
  const startedAt: number[] = []
  const child = await supervise({
    ...bounds,
    name: 'brief',
    start: () => {
      startedAt.push(performance.now())
      return spawn('sleep', ['0.01'], { stdio: 'ignore' })
    },
    ready: async () => undefined,
    stop: (child) => void child.kill(),
  })
  await until(() => startedAt.length === 4)
  await child.close()
  const gaps = startedAt.slice(1).map((at, index) => at - (startedAt[index] as number))
  for (const [index, leastMs] of [95, 195, 395].entries()) {
    t.ok((gaps[index] ?? 0) > leastMs, `${gaps[index]} ms`)
  }
  await sleep(1_000)
  t.equal(startedAt.length, 4, 'none after close')
})

t.test('kill is followed by a new child, close by none', async (t) => {
  const events: string[] = []
  const restarts: Restart[] = []
  const child = await supervise({
    ...bounds,
    name: 'sleeper',
    start: sleeper,
    ready: async () => undefined,
    stop: (child) => void child.kill(),
    onEvent: (event) => events.push(event),
    onRestart: (restart) => restarts.push(restart),
  })
  const first = child.pid()
  child.kill()
  await until(() => restarts.length === 1)
  t.not(child.pid(), first)
  t.type(child.pid(), 'number')
  t.match(events[0], /sleeper ended \(SIGKILL\)/)
  t.match(restarts, [{ beganAt: Date, detail: 'SIGKILL' }])
  await child.close()
  t.equal(child.pid(), undefined)
  t.equal(restarts.length, 1, 'the end is not a restart')
})

t.test('a child that does not stop when asked is ended', async (t) => {
  const child = await supervise({
    ...bounds,
    name: 'stubborn',
    start: sleeper,
    ready: async () => undefined,
    stop: () => undefined,
  })
  await child.close()
  t.equal(child.pid(), undefined)
})

t.test('a first start that fails is a fault', async (t) => {
  const base = { ...bounds, ready: () => new Promise<void>(() => undefined), stop: () => undefined }
  await t.rejects(
    supervise({ ...base, name: 'nothing', start: () => spawn('no-such-program') }),
    { code: 'MISSING_PROGRAM' },
    'no such program',
  )
  await t.rejects(
    supervise({ ...base, name: 'false', start: () => spawn('false') }),
    {
      code: 'CONFIG',
      detail: 'false ended while starting (exit code 1); see /logs/one.log for the reason',
    },
    'it ends at once',
  )
  await t.rejects(
    supervise({ ...base, name: 'mute', start: sleeper, readyMsMax: 50 }),
    {
      code: 'CONFIG',
      detail: /^mute was not ready within 0.05 s; see \/logs\/one.log for .+; if the machine is/,
    },
    'it never answers',
  )
})
