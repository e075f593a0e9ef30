import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { createRedis } from '../../../../infra/redis/start.js'
import { onFreePort } from '../../../../infra/stack/port.js'
import { createChild } from '../../../../infra/stack/processes/child.js'
import type { Restart } from '../../../../infra/stack/processes/supervise.js'
import { createQueues } from '../../../../pipeline/queues/bullmq.js'
import { anyPort } from '../../../rig/any-port.js'
import { createFolder } from '../../../rig/folder.js'
import { until } from '../../../story/rig/stack.js'
import type { EndlessOptions } from './endless-process.js'

const redis = await onFreePort(anyPort(), (port) =>
  createRedis({ dataPath: createFolder(t), port, password: 'secret' }),
)
t.teardown(() => redis.close())

t.test('a child with a job that never ends obeys SIGTERM, and its job runs again', async (t) => {
  const logsPath = createFolder(t)
  const runsPath = join(logsPath, 'runs')
  writeFileSync(runsPath, '')
  const shared = { redisUrl: redis.url, prefix: 'endless' }
  const queues = createQueues(shared)
  t.teardown(() => queues.close())
  await queues.add('settle', { v: 1, arrival: 7 })
  const start = (isEndless: boolean, restarts: Restart[]) =>
    createChild<EndlessOptions, undefined>({
      name: 'endless',
      program: '../../../test/infra/stack/processes/endless-process',
      options: { ...shared, runsPath, isEndless },
      logsPath,
      stopMsMax: 500,
      onRestart: (restart) => restarts.push(restart),
    })
  const runs = () => readFileSync(runsPath, 'utf8').trim().split('\n')
  const restarts: Restart[] = []
  const child = await start(true, restarts)
  t.teardown(() => child.close())
  await until(() => runs().includes('7'))
  process.kill(child.pid() as number, 'SIGTERM')
  await until(() => restarts.length === 1)
  t.match(restarts, [{ detail: 'exit code 1' }], 'ended after its limit, and started again')
  const log = join(logsPath, 'endless.log')
  t.ok(existsSync(log))
  t.match(readFileSync(log, 'utf8'), /ended after 500 ms with work that is not complete/)
  await child.close()
  const next = await start(false, [])
  t.teardown(() => next.close())
  await until(() => runs().includes('done'))
  t.same(runs(), ['7', '7', 'done'], 'repeated once, when its lock has expired')
})
