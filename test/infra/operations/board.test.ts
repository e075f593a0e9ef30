import t from 'tap'
import { createBoard } from '../../../infra/operations/board.js'
import { createRedis } from '../../../infra/redis/start.js'
import { onFreePort } from '../../../infra/stack/port.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { anyPort } from '../../rig/any-port.js'
import { createBrowser } from '../../rig/chromium.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'
import { createProxy, createStand } from './stand.js'

const dataPath = createFolder(t)
const redis = await onFreePort(anyPort(), (port) =>
  createRedis({ dataPath, port, password: 'secret' }),
)
t.teardown(() => redis.close())
const queues = createQueues({ redisUrl: redis.url, prefix: 'board' })
t.teardown(() => queues.close())
const browser = await createBrowser(t)

t.test('the board of queues works behind a proxy with a prefix', async (t) => {
  await queues.add('settle', { v: 1, arrival: 7 })
  const { port, address, failures } = await createStand(t, { board: createBoard(queues) })
  const proxied = await createProxy(t, port, '/ops/east')
  for (const page of [address, proxied]) {
    const tab = await browser.newPage()
    const refused: string[] = []
    tab.on('response', (answer) => {
      if (answer.status() >= 400) refused.push(`${answer.status()} ${answer.url()}`)
    })
    tab.on('pageerror', (error) => refused.push(String(error)))
    const sees = (text: string) =>
      until(async () => ((await tab.locator('#root').textContent()) ?? '').includes(text))
    for (const path of ['queues', 'queues/']) {
      await tab.goto(`${page}/${path}`)
      await sees('settle')
    }
    await tab.locator('a[href*="/queue/settle"]').first().click()
    await tab.waitForURL((url) => url.href.startsWith(`${page}/queues/queue/settle`))
    await tab.reload()
    await sees('arrival:7')
    await tab.goto(`${page}/queues/queue/settle?status=waiting`)
    await sees('arrival:7')
    t.same(refused, [], page)
  }
  t.same(failures, [])
})
