import t, { type Test } from 'tap'
import type { PanelUpdate } from '../../../../infra/operations/live.js'
import type { Today } from '../../../../infra/operations/panels/files.js'
import type { GatewayShown } from '../../../../infra/operations/panels/gateway.js'
import { createBrowser } from '../../../rig/chromium.js'
import { hasAllColumns } from '../../../story/rig/browser-page.js'
import { createStand } from '../stand.js'

/** The page of a screen with the figures of one panel. */
async function openPanel(t: Test, name: string, figures: unknown) {
  const watch = (onUpdate: (update: PanelUpdate) => void) => {
    onUpdate({ name, at: new Date().toISOString(), figures })
    return () => undefined
  }
  const { address } = await createStand(t, { watch })
  const page = await (await createBrowser(t)).newPage({ viewport: { width: 1_440, height: 900 } })
  await page.goto(address)
  const panel = page.locator(`[data-panel="${name}"]`)
  return { page, panel }
}

const none = { read: 0, accepted: 0, duplicate: 0, superseded: 0, rejected: 0 }
const file = (arrival: number, more: object) => ({
  ...{ arrival, name: `${arrival}.csv`, source: 'inbox', feed: 'Electric', status: 'published' },
  ...{ fault: '', arrivedAt: '2026-03-04T05:06:07Z', bytes: 1, ...none },
  ...{ unregistered: 0, held: 0, loaded: 0, ...more },
})
const today = (...files: Today['files']): Today => ({
  day: '2026-03-04',
  counts: [{ feed: 'Electric', status: 'published', files: files.length }],
  files,
})

t.test(
  'the rows of each file add up: what was neither accepted nor rejected is listed',
  async (t) => {
    const figures = today(
      file(3, { status: 'arrived', feed: '' }),
      file(2, { read: 20, duplicate: 18, rejected: 2, loaded: 20 }),
      file(1, { read: 9, superseded: 9, loaded: 9 }),
    )
    const { panel } = await openPanel(t, 'files', figures)
    const listed = panel.locator('table').last()
    await listed.locator('tbody tr').first().waitFor()
    const titles = (await listed.locator('th').allInnerTexts()).slice(4, -1)
    t.same(titles, ['rows', 'accepted', 'duplicate', 'superseded', 'rejected'])
    const cells = await Promise.all(
      (await listed.locator('tbody tr').all()).map(async (row) =>
        (await row.locator('td').allInnerTexts()).slice(4, -1),
      ),
    )
    t.same(cells, [
      ['', '', '', '', ''],
      ['20', '0', '18', '0', '2'],
      ['9', '0', '0', '9', '0'],
    ])
  },
)

t.test('the reason of an outage that is over is in sight on a screen', async (t) => {
  const at = { began: '2026-03-04 05:06:07', healed: '2026-03-04 05:07:08', times: 1 }
  const { page, panel } = await openPanel(t, 'healed', [
    {
      ...{ name: 'identity provider https://login.example.com', event: 'responds again', ...at },
      code: 'IDENTITY_UNREACHABLE',
      detail:
        'no response from the identity provider at https://login.example.com (socket hang up)',
    },
  ])
  await panel.locator('tbody tr').waitFor()
  t.ok(await hasAllColumns(page))
})

t.test('a gateway that nobody has called says nothing of success', async (t) => {
  const figures: GatewayShown = { address: 'http://gateway', moments: [], answers: [] }
  const { panel } = await openPanel(t, 'gateway', figures)
  await panel.getByText('0 requests since').waitFor()
  t.notMatch((await panel.allInnerTexts()).join(), /succeeded/)
})

t.test('the times below a chart do not touch', async (t) => {
  const moments = Array.from({ length: 3 }, (_, index) => {
    return { at: 1_000 + 5 * index, perSecond: 1, median: null, slow: null }
  })
  const figures: GatewayShown = { address: 'http://gateway', moments, answers: [] }
  const { page } = await openPanel(t, 'gateway', figures)
  await page.locator('canvas').waitFor()
  await page.waitForTimeout(300)
  const gaps = (await page.evaluate(`(() => {
    const canvas = document.querySelector('canvas')
    const { width, height } = canvas
    const rows = Math.round(30 * devicePixelRatio)
    const { data } = canvas.getContext('2d').getImageData(0, height - rows, width, rows)
    const inked = Array.from({ length: width }, (_, x) =>
      Array.from({ length: rows }, (_, y) => data[4 * (y * width + x) + 3]).some((one) => one > 60))
    const starts = inked.flatMap((is, x) => (is ? [x] : []))
    return starts.flatMap((x, at) => (at > 0 && x - starts[at - 1] > 5 ? [x - starts[at - 1]] : []))
  })()`)) as number[]
  t.ok(gaps.length > 0, 'there are several')
  t.ok(Math.min(...gaps) > 10, `${gaps}`)
})
