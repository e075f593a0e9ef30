import { EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import t, { type Test } from 'tap'
import type { Admit } from '../../../infra/operations/access.js'
import type { Told } from '../../../infra/operations/live.js'
import { createPage } from '../../../infra/operations/page.js'
import type { Held } from '../../../infra/operations/panels/held.js'
import { createBrowser } from '../../chromium.js'
import { until } from '../../story/stack.js'

/** The page of a service of which this alone is known, and how many watch it. */
async function createDoor(t: Test, admit: Admit, known: readonly Told[] = []) {
  let watching = 0
  const page = createPage({
    admit,
    live: {
      watch: (hear) => {
        for (const told of known) hear(told)
        watching++
        return () => void watching--
      },
      close: () => undefined,
    },
    desk: undefined as never,
    board: async (_, response) => void response.end(),
    onFailure: (error) => t.fail(String(error)),
  })
  const server = createServer(page)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  return { watching: () => watching, server, port, address: `http://127.0.0.1:${port}` }
}

t.test('a page that nobody sees does not watch, and watches again when it is seen', async (t) => {
  let refusals = 1
  const { watching, address } = await createDoor(t, async ({ url }) =>
    url === '/live' && refusals-- > 0 ? { status: 503, text: 'try again' } : { who: 'loopback' },
  )
  const browser = await createBrowser(t)
  const tab = await browser.newPage()
  await tab.goto(address)
  await until(() => watching() === 1)
  t.ok(refusals < 0, 'one that was answered an error has tried again')
  const turn = (hidden: boolean) =>
    tab.evaluate((isHidden) => {
      Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true })
      document.dispatchEvent(new Event('visibilitychange'))
    }, hidden)
  await turn(true)
  await until(() => watching() === 0)
  await turn(false)
  await until(() => watching() === 1)
})

t.test('who leaves while he is judged does not watch', async (t) => {
  const bell = new EventEmitter()
  const { watching, server, port } = await createDoor(t, async () => {
    await once(bell, 'judged')
    return { who: 'ann' }
  })
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [, response] = await once(server, 'request')
  socket.destroy()
  await once(response, 'close')
  bell.emit('judged')
  await new Promise(setImmediate)
  t.equal(watching(), 0)
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
  const told = { name: 'held', at: new Date().toISOString(), figures }
  const { address } = await createDoor(t, async () => ({ who: 'loopback' }), [told])
  const tab = await (await createBrowser(t)).newPage()
  await tab.goto(address)
  const panel = tab.locator('[data-panel="held"]')
  await panel.locator('li').waitFor()
  t.match(
    await panel.textContent(),
    /failing source mdm\s*SOURCE_UNREACHABLE: no <b>route<\/b>\s*Check its address\. Since 2026-03-04/,
  )
})
