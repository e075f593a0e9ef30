import t from 'tap'
import { decimalText } from '../../../../infra/operations/browser/text.js'
import type { FileDetail, Reject } from '../../../../infra/operations/file.js'
import { createBrowser } from '../../../rig/chromium.js'
import { openPage } from '../../../story/rig/browser-page.js'
import { createStand } from '../stand.js'

const reject = (line: number): Reject => ({
  ...{ place: line, line, column: 'TotalUnit', code: 'NOT_A_NUMBER' },
  ...{
    detail: `reason ${line}`,
    raw: `910020000000,5113000000,55000000,10/1/2026 0:15,row${line}`,
  },
})
const rejects = [3, 13, 15].map(reject)
const detail: FileDetail = {
  ...{ arrival: 1, name: '1.csv', source: 'inbox', arrivedAt: '2026-03-04T05:06:07Z' },
  ...{ status: 'published', fault: '', todo: '', receipt: undefined, unit: 'kWh', clock: 'wall' },
  clockChanges: [],
  rejectKinds: [
    {
      ...{ code: 'NOT_A_NUMBER', column: 'TotalUnit', rows: 3 },
      examples: rejects.map((one) => [one.line, one.detail, one.raw] as const),
    },
  ],
  ...{ location: '/archive/1.csv', downloads: [], acts: { retry: '', accept: '' } },
  ...{ reprocessed: undefined, entries: [] },
}

t.test('on a telephone each example of a rejected row is below its reason', async (t) => {
  const { address } = await createStand(t)
  const { page } = await openPage(await createBrowser(t), 'about:blank')
  await page.route('**/files/1', (route) => route.fulfill({ json: detail }))
  const listed = { rejects, isLast: true }
  await page.route('**/files/1/rejects*', (route) => route.fulfill({ json: listed }))
  await page.goto(`${address}/file?arrival=1`)
  const cell = page.locator('td[data-title="first rows"]')
  await cell.waitFor()
  const leftOf = async (selector: string) => {
    const boxes = await Promise.all(
      (await cell.locator(selector).all()).map((one) => one.boundingBox()),
    )
    return boxes.map((box) => Math.round(box?.x ?? 0))
  }
  const reasons = await leftOf('.words')
  t.equal(reasons.length, 3)
  t.same(await leftOf('code'), reasons)
})

for (const [stored, shown] of [
  ['1234567.125000', '1,234,567.125000'],
  ['-1234.5', '-1,234.5'],
  ['999', '999'],
  ['-0.123456', '-0.123456'],
  ['', ''],
] as const) {
  t.test(`a quantity of ${stored || 'nothing'} is shown with its thousands apart`, async (t) => {
    t.equal(decimalText(stored), shown)
  })
}
