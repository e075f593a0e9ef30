import { EventEmitter, once } from 'node:events'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import type { Admit } from '../../../infra/operations/access.js'
import type { Live, PanelUpdate } from '../../../infra/operations/live.js'
import type { Attention } from '../../../infra/operations/panels/attention.js'
import type { Today } from '../../../infra/operations/panels/files.js'
import type { GatewayShown } from '../../../infra/operations/panels/gateway.js'
import type { Minutes } from '../../../infra/operations/panels/minutes.js'
import { createBrowser, paintedColumns } from '../../rig/chromium.js'
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
    runs: [],
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

t.test('a published file with rejected rows is listed as one with rejects', async (t) => {
  const file = (arrival: number, more: object) => ({
    ...{ arrival, name: `${arrival}.csv`, source: 'inbox', feed: 'Electric', status: 'published' },
    ...{ fault: '', arrivedAt: '2026-03-04T05:06:07Z', bytes: 1, read: 2, accepted: 2 },
    ...{ duplicate: 0, superseded: 0, rejected: 0, unregistered: 0, held: 0, loaded: 2, ...more },
  })
  const figures: Today = {
    day: '2026-03-04',
    counts: [{ feed: 'Electric', status: 'published', files: 2 }],
    files: [
      file(3, { status: 'quarantined', fault: 'TOO_MANY_REJECTS', accepted: 0, rejected: 2 }),
      file(2, { accepted: 1, rejected: 1 }),
      file(1, {}),
    ],
  }
  const update = { name: 'files', at: new Date().toISOString(), figures }
  const { address } = await createStand(t, createWatch([update]))
  const tab = await (await createBrowser(t)).newPage()
  await tab.goto(address)
  const rows = tab.locator('[data-panel="files"] table').last().locator('tbody tr')
  await rows.first().waitFor()
  const cells = await Promise.all(
    (await rows.all()).map(async (row) => (await row.locator('td').allInnerTexts()).slice(0, 3)),
  )
  t.same(cells, [
    ['3.csv', 'quarantined', 'TOO_MANY_REJECTS'],
    ['2.csv', 'published', 'with rejects'],
    ['1.csv', 'published', ''],
  ])
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

/** The page with figures of one panel, and what its charts have painted in the colour of a line. */
async function openCharts(t: Test, name: string, figures: unknown) {
  const update = { name, at: new Date().toISOString(), figures }
  const { address } = await createStand(t, createWatch([update]))
  const page = await (await createBrowser(t)).newPage({ viewport: { width: 1_000, height: 800 } })
  await page.goto(address)
  await page.locator('canvas').first().waitFor()
  const paint = (chart: number, color: string) => paintedColumns(page, chart, color)
  await until(async () => (await paint(0, '--line-1')).flat().length > 100)
  return { page, paint }
}

t.test('rates of the gateway are steps, with a gap where none is known', async (t) => {
  const rates = [null, 4, 8, null, 2, 6, 6, 1, null, 3]
  const moments = rates.map((perSecond, index) => ({
    at: 1_000 + 5 * index,
    perSecond,
    median: null,
    slow: perSecond && perSecond / 100,
  }))
  const figures: GatewayShown = { address: 'http://gateway', moments, answers: [] }
  const { paint } = await openCharts(t, 'gateway', figures)
  for (const [chart, color] of [
    [0, '--line-1'],
    [1, '--line-2'],
  ] as const) {
    await until(async () => (await paint(chart, color)).flat().length > 100)
    const columns = await paint(chart, color)
    const painted = columns.flatMap((rows, at) => (rows.length > 0 ? [at] : []))
    const [from = 0, to = 0] = [painted[0], painted.at(-1)]
    const moment = (at: number) => Math.round((9 * (at - from)) / (to - from))
    const holes = painted.flatMap((at, index) => {
      const before = painted[index - 1] ?? at
      return at - before > 5 ? [[moment(before), moment(at)]] : []
    })
    t.same(
      holes,
      [
        [2, 3],
        [7, 8],
      ],
      'nothing is drawn from the last known moment until the next scrape',
    )
    const heights = new Set(
      columns.filter((rows) => rows.length > 0 && rows.length < 5).map((rows) => rows[0]),
    )
    t.equal(heights.size, new Set(rates.filter((rate) => rate !== null)).size, 'no line slopes')
  }
})

t.test('each commodity has bars of its own, in its unit', async (t) => {
  const figures: Minutes = {
    minutes: [60, 120, 180, 240],
    rows: [4, 0, 0, 2],
    quantity: { Electric: [10, 0, 0, 4], Gas: [7, 0, 0, 1] },
    units: { Electric: 'kWh', Gas: 'ccf' },
  }
  const { page, paint } = await openCharts(t, 'minutes', figures)
  t.same(await page.locator('[role="img"]').evaluateAll((all) => all.map((one) => one.ariaLabel)), [
    'Rows per minute in the last hour. 6 rows in the last hour, 4 in the busiest minute.',
    'Electric per minute in the last hour. 14 kWh of Electric as sent, in the unit of the profile.',
    'Gas per minute in the last hour. 8 ccf of Gas as sent, in the unit of the profile.',
  ])
  for (const [chart, color] of ['--line-1', '--line-1', '--line-2'].entries()) {
    await until(async () => (await paint(chart, color)).flat().length > 100)
    const painted = (await paint(chart, color)).map((rows) => rows.length > 2)
    const bars = painted.filter((is, at) => is && !painted[at - 1]).length
    t.equal(bars, 2, 'nothing is drawn between two minutes with reads')
  }
})
