import t from 'tap'
import { createJudge } from '../../../infra/operations/judge.js'
import { createOperationsPage } from '../../../infra/operations/operations.js'
import { openHome } from '../../../infra/stack/home.js'
import { createHealth } from '../../../infra/telemetry/health.js'
import { Fault } from '../../../schemas/fault.js'
import { createBrowser } from '../../rig/chromium.js'
import { createFolder } from '../../rig/folder.js'
import { openPage, shows } from '../../story/rig/browser-page.js'
import { storyProfile, until } from '../../story/rig/stack.js'

t.test('without ClickHouse and Redis the page reports that and stays usable', async (t) => {
  const nowhere = { url: 'http://127.0.0.1:1', username: 'u', password: 'p', database: 'd' }
  const away = createOperationsPage({
    profile: storyProfile(),
    folders: openHome(createFolder(t)),
    redisUrl: 'redis://127.0.0.1:1',
    store: nowhere,
    onFailure: () => undefined,
  })
  t.teardown(away.close)
  const health = await createHealth({
    host: '127.0.0.1',
    port: 0,
    setting: 'worker.operations',
    ready: async () => undefined,
    metrics: { type: 'text/plain', text: async () => '' },
    page: away.page,
  })
  t.teardown(health.close)
  const { page } = await openPage(await createBrowser(t), `${health.address}/`)
  const servers = page.locator('#servers')
  await until(async () => (await servers.locator('li').count()) === 2)
  const text = (await servers.textContent()) ?? ''
  t.match(text, /STORE_UNREACHABLE: ClickHouse does not answer/)
  t.match(text, /QUEUE_UNREACHABLE: Redis does not answer/)
  t.equal(text.match(/[\w)]\. Files wait until/g)?.length, 2, 'each reason ends as a sentence')
  for (const panel of ['files', 'minutes', 'freshness', 'sources']) {
    await shows(page, panel, /ClickHouse does not answer; no figures yet/)
  }
  await shows(page, 'queues', /Redis does not answer; no figures yet/)
  t.equal(
    await page.locator('.fault').count(),
    0,
    'one line for each server, no red box for each panel',
  )
  await page.goto(`${health.address}/file?arrival=1`)
  await until(async () =>
    /STORE_UNREACHABLE/.test((await page.locator('main').textContent()) ?? ''),
  )
  await page.close()
})

const late = new Fault('OVERLOAD', 'no answer within 8000 ms')

t.test('a refused ping is an unreachable server', async (t) => {
  const judge = createJudge(async () => false)
  t.match(await judge(late), { code: 'STORE_UNREACHABLE' })
})

t.test('a ping without an answer is an unreachable server after 30 seconds', async (t) => {
  const clock = { at: 0 }
  const codes: string[] = []
  let reply: Promise<boolean> = new Promise(() => undefined)
  const judgeAt = async (seconds: number) => {
    clock.at = seconds * 1_000
    const found = await judge(late)
    codes.push((found as Fault).code)
  }
  const judge = createJudge(() => reply, { msMax: 1, keptMs: 0, now: () => clock.at })
  for (const seconds of [0, 15, 29, 31, 45]) await judgeAt(seconds)
  t.same(codes.splice(0), [
    ...['STORE_BUSY', 'STORE_BUSY', 'STORE_BUSY'],
    ...['STORE_UNREACHABLE', 'STORE_UNREACHABLE'],
  ])
  await judgeAt(3_600)
  reply = Promise.resolve(true)
  await judgeAt(3_601)
  t.same(codes, ['STORE_BUSY', 'STORE_BUSY'], 'another silence has its own time')
})
