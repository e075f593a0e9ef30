import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { Live } from '../../../infra/operations/live.js'
import { createPage } from '../../../infra/operations/page.js'
import type { Held } from '../../../infra/operations/panels/held.js'
import { createBrowser } from '../../chromium.js'
import { until } from '../../story/stack.js'

/** The overview in a browser, with figures of the test. */
async function openOverview(t: Test, watch: Live['watch']) {
  const page = createPage({
    admit: async () => ({ who: 'loopback' }),
    live: { watch, close: () => undefined },
    desk: undefined as never,
    board: (_, response) => response.end(),
    onFailure: (error) => t.fail(String(error)),
  })
  const server = createServer(page)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const tab = await (await createBrowser(t)).newPage()
  await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  return tab
}

t.test('a page that nobody sees does not watch, and watches again when it is seen', async (t) => {
  let watching = 0
  const tab = await openOverview(t, () => {
    watching++
    return () => void watching--
  })
  await until(() => watching === 1)
  const turn = (hidden: boolean) =>
    tab.evaluate((isHidden) => {
      Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, hidden)
  await turn(true)
  await until(() => watching === 0)
  await turn(false)
  await until(() => watching === 1)
})

t.test('a source that fails is to be seen to, with what to do', async (t) => {
  const figures: Held = {
    waiting: [],
    quarantined: [],
    away: [],
    failing: [
      {
        name: 'mdm',
        kind: 'sftp',
        state: 'failing',
        code: 'SOURCE_UNREACHABLE',
        detail: 'no <b>route</b>',
        failures: 3,
        since: '2026-03-04T05:06:07Z',
        retryAt: '2026-03-04T06:00:00Z',
        todo: 'Check its address.',
      },
    ],
  }
  const tab = await openOverview(t, (hear) => {
    hear({ name: 'held', at: new Date().toISOString(), figures })
    return () => undefined
  })
  const panel = tab.locator('[data-panel="held"]')
  await panel.locator('li').waitFor()
  t.match(
    await panel.textContent(),
    /failing source mdm\s*SOURCE_UNREACHABLE: no <b>route<\/b>\s*Check its address\. Since 2026-03-04/,
  )
})
