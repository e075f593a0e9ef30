import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { createPage } from '../../../infra/operations/page.js'
import { createBrowser } from '../../chromium.js'
import { until } from '../../story/stack.js'

t.test('a page that nobody sees does not watch, and watches again when it is seen', async (t) => {
  let watching = 0
  const page = createPage({
    admit: async () => ({ who: 'loopback' }),
    live: {
      watch: () => {
        watching++
        return () => void watching--
      },
      close: () => undefined,
    },
    desk: undefined as never,
    board: (_, response) => response.end(),
    onFailure: (error) => t.fail(String(error)),
  })
  const server = createServer(page)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const browser = await createBrowser(t)
  const tab = await browser.newPage()
  await tab.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
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
