import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import t from 'tap'
import type { Admit } from '../../../infra/operations/access.js'
import type { Live, PanelUpdate } from '../../../infra/operations/live.js'
import type { Attention } from '../../../infra/operations/panels/attention.js'
import type { Minutes } from '../../../infra/operations/panels/minutes.js'
import { createBrowser } from '../../rig/chromium.js'
import { until } from '../../story/rig/stack.js'
import { createStand } from './stand.js'

/** A `watch` that sends known updates and counts its watchers. */
function createWatch(known: readonly PanelUpdate[] = []) {
  let watching = 0
  const watch: Live['watch'] = (onUpdate) => {
    for (const update of known) onUpdate(update)
    watching++
    return () => void watching--
  }
  return { watch, watching: () => watching }
}

t.test('a hidden page closes its stream and opens it again when it is visible', async (t) => {
  let refusals = 1
  const { watch, watching } = createWatch()
  const admit: Admit = async ({ url }) =>
    url === '/live' && refusals-- > 0 ? { status: 503, text: 'try again' } : { who: 'ann' }
  const { address } = await createStand(t, { admit, watch })
  const browser = await createBrowser(t)
  const tab = await browser.newPage()
  await tab.goto(address)
  await until(() => watching() === 1)
  t.ok(refusals < 0, 'it reconnected after an error response')
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

t.test('a client that leaves during authentication does not watch', async (t) => {
  const bell = new EventEmitter()
  const { watch, watching } = createWatch()
  const admit: Admit = async () => {
    await once(bell, 'authenticated')
    return { who: 'ann' }
  }
  const { server, port } = await createStand(t, { admit, watch })
  const socket = connect(port, '127.0.0.1')
  socket.write('GET /live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  const [, response] = await once(server, 'request')
  socket.destroy()
  await once(response, 'close')
  bell.emit('authenticated')
  await new Promise(setImmediate)
  t.equal(watching(), 0)
})

t.test('a failing source needs attention, with a remedy', async (t) => {
  const figures: Attention = {
    readAt: '2026-03-04T05:07:00Z',
    waiting: [],
    missing: [],
    missingCount: 0,
    missingTodo: '',
    waitingFiles: 31,
    quarantined: [],
    away: [],
    systems: [],
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
        others: '',
        todo: 'Check its address.',
      },
    ],
  }
  const update = { name: 'attention', at: new Date().toISOString(), figures }
  const { address } = await createStand(t, createWatch([update]))
  const tab = await (await createBrowser(t)).newPage()
  await tab.goto(address)
  const panel = tab.locator('[data-panel="attention"]')
  await panel.locator('li').first().waitFor()
  t.match(
    await panel.textContent(),
    /failing source mdm\s*SOURCE_UNREACHABLE: no <b>route<\/b>\s*Check its address\. Since 2026-03-04.*31 more files are waiting/,
  )
})

t.test(
  'an opened table of values stays open and visible while figures and faults arrive',
  async (t) => {
    const figures = (rows: number): Minutes => ({
      minutes: [60, 120],
      rows: [1, rows],
      quantity: {},
      units: {},
    })
    const fault = { code: 'STORE_REFUSED', detail: 'no response' }
    let send: (update: Partial<PanelUpdate>) => void = () => undefined
    const watch: Live['watch'] = (onUpdate) => {
      send = (update) => onUpdate({ name: 'minutes', at: new Date().toISOString(), ...update })
      send({ figures: figures(2) })
      return () => undefined
    }
    const { address } = await createStand(t, { watch })
    const tab = await (await createBrowser(t)).newPage()
    await tab.goto(address)
    const panel = tab.locator('[data-panel="minutes"]')
    const cells = panel.locator('details tbody tr').last().locator('td')
    await panel.locator('summary').click()
    t.same(await cells.allInnerTexts(), ['1970-01-01 00:02 UTC', '2'])
    send({ figures: figures(3) })
    await panel.getByText('3 in the busiest minute').waitFor()
    t.same(await cells.allInnerTexts(), ['1970-01-01 00:02 UTC', '3'])
    send({ fault, figures: figures(3), figuresAt: '2026-03-04T05:06:07Z' })
    await panel.getByText('no response').waitFor()
    t.same(await cells.allInnerTexts(), ['1970-01-01 00:02 UTC', '3'], 'earlier figures stay')
    t.match(await panel.textContent(), /STORE_REFUSED.*figures of .* old/)
    send({ figures: figures(4) })
    await panel.getByText('4 in the busiest minute').waitFor()
    t.ok(await cells.last().isVisible())
    t.same(await cells.allInnerTexts(), ['1970-01-01 00:02 UTC', '4'])
  },
)
