import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { t } from 'tap'
import type { ReportFacts, ShapeFact } from '../../../infra/report/facts.js'
import { renderReport } from '../../../infra/report/page.js'
import { createBrowser, paintedColumns } from '../../rig/chromium.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'

const hostile = '"><script>document.title = "ran"</script><img src=x onerror="document.title=1">'
const folder = createFolder(t)
const browser = await createBrowser(t)

/** One kW in each hour, but none from 10:00 to 14:00 and at 20:00. */
const gaps = new Set([10, 11, 12, 13, 14, 20])
const shapeOf = (rateCode: string): readonly ShapeFact[] =>
  Array.from({ length: 24 }, (_, hour) => hour)
    .filter((hour) => !gaps.has(hour))
    .map((hour) => ({ commodity: 'Electric', rateCode, unit: 'kWh', hour, meters: 2, perHour: 1 }))

const facts: ReportFacts = {
  run: {
    run: 'r1',
    cycleId: hostile,
    first: '2026-01-01',
    last: '2026-01-03',
    computedAt: '2026-02-01 00:00:00.000',
    knownAt: '2026-02-01 00:00:00.000',
    timeZone: 'America/Detroit',
  },
  totals: [],
  compared: [
    {
      costStatus: hostile,
      unit: 'kWh',
      bills: 1,
      quantityBilled: '10',
      quantityComputed: '12.5',
      costBilled: '1234.5',
      costComputed: null,
      costDifference: null,
    },
    {
      costStatus: 'notBilled',
      unit: 'kWh',
      bills: 7,
      quantityBilled: '10',
      quantityComputed: '10',
      costBilled: null,
      costComputed: '12',
      costDifference: null,
    },
  ],
  costCauses: [
    { cause: hostile, unit: '', bills: 1, net: '-2', moved: '2' },
    { cause: 'rounding', unit: '', bills: 1, net: '1', moved: '1' },
  ],
  quantityCauses: [],
  outliers: [
    {
      account: hostile,
      meter: `=cmd|A1\u202e${'<b>'.repeat(80)}`,
      first: '2026-01-01',
      last: '2026-01-03',
      unit: 'kWh',
      quantityDifference: '1',
      costBilled: '1',
      costComputed: '2',
      costDifference: '1',
      costCauses: { [hostile]: '1' },
      quantityCauses: {},
    },
  ],
  days: [
    { day: '2026-01-01', meters: 2, known: 2, expected: 48, present: 40, silent: 0, partial: 1 },
    { day: '2026-01-02', meters: 2, known: 0, expected: 0, present: 0, silent: 0, partial: 0 },
    { day: '2026-01-03', meters: 2, known: 1, expected: 24, present: 24, silent: 0, partial: 0 },
  ],
  shape: shapeOf(hostile),
}

/** The report in a browser, which collects requests and errors. */
async function openReport(
  width: number,
  colorScheme: 'light' | 'dark' = 'light',
  shown: ReportFacts = facts,
) {
  const path = join(folder, 'report.html')
  writeFileSync(path, renderReport(shown))
  const page = await browser.newPage({ viewport: { width, height: 800 }, colorScheme })
  const seen: string[] = []
  page.on('request', (request) => seen.push(request.url()))
  page.on('console', (message) => seen.push(message.text()))
  page.on('pageerror', (error) => seen.push(String(error)))
  await page.goto(pathToFileURL(path).href)
  await page.locator('canvas').nth(1).waitFor()
  return { page, seen, address: pathToFileURL(path).href }
}

t.test('a value cannot run a script, and no request leaves the page', async (t) => {
  const { page, seen, address } = await openReport(1_000)
  t.same(seen, [address], 'no request, no message of the console')
  t.match(await page.title(), /^Billing cycle "><script>/)
  t.equal(await page.locator('img, main b').count(), 0)
  t.equal(await page.locator('td', { hasText: '=cmd|A1' }).count(), 1)
  t.notMatch((await page.textContent('body'))?.replace(/\n/g, ' '), /\p{C}/u, 'nothing turns text')
  t.equal(
    await page.locator('.u-legend').last().textContent(),
    hostile,
    'the legend has it as text',
  )
})

t.test('a missing value is a gap', async (t) => {
  const { page } = await openReport(1_000)
  const columns = await paintedColumns(page, 1, '--line-1')
  const painted = columns.flatMap((rows, at) => (rows.length > 0 ? [at] : []))
  const [from = 0, to = 0] = [painted[0], painted.at(-1)]
  const widthOf = (hours: number) => ((to - from) * hours) / 24
  const holes = painted.flatMap((at, index) => {
    const before = painted[index - 1] ?? at
    return at - before > widthOf(0.5) ? [before - from, at - from] : []
  })
  const hoursOf = (pixels: readonly number[]) =>
    pixels.map((pixel) => Math.round((24 * pixel) / (to - from)))
  t.same(hoursOf(holes), [10, 15, 20, 21], 'nothing is drawn from 10:00 to 15:00 and at 20:00')
  const hours = page.locator('details').last().locator('tbody tr')
  const cellsOf = (hour: number) => hours.nth(hour).locator('td').allTextContents()
  t.same(await cellsOf(9), ['09:00', '1.000'])
  t.same(await cellsOf(12), ['12:00', '–'])
  const day = page.locator('details').first().locator('tbody tr').nth(1)
  t.same(await day.locator('td').allTextContents(), [
    ...['2026-01-02', '2', '–', '–', '–', '–', '–', '2'],
  ])
  t.equal(
    (await page.textContent('figcaption'))?.trim(),
    'On 2 of 3 days, 64 of 72 expected reads are present (88.8 %). Reads are missing on 1 of 2 days. Nothing is expected on the other days, which are outside the span of the stored reads.',
  )
})

t.test('a load shape is a step for each hour, without a slope to the next', async (t) => {
  const perHour = (hour: number) => (hour % 2 === 0 ? 1 : 3)
  const shape = shapeOf('A').map((fact) => ({ ...fact, perHour: perHour(fact.hour) }))
  const { page } = await openReport(1_000, 'light', { ...facts, shape })
  const columns = await paintedColumns(page, 1, '--line-1')
  const levels = columns.flatMap((rows) =>
    rows.length > 0 && rows.length < 6 ? [rows[0] ?? 0] : [],
  )
  const [top, bottom] = [Math.min(...levels), Math.max(...levels)]
  const between = levels.filter((row) => row > top + 2 && row < bottom - 2)
  t.ok(bottom - top > 50 && levels.length > 400)
  t.same(between, [])
})

t.test('charts follow the colours of the system and of paper', async (t) => {
  const { page } = await openReport(1_000, 'dark')
  const isDrawn = async () => {
    const columns = await paintedColumns(page, 0, '--line-1')
    return columns.flat().length > 1_000
  }
  await until(isDrawn)
  await page.emulateMedia({ colorScheme: 'light' })
  await page.waitForFunction("getComputedStyle(document.body).color === 'rgb(27, 33, 31)'")
  await until(isDrawn)
  t.equal(await page.locator('details[open]').count(), 0)
  await page.emulateMedia({ media: 'print' })
  await page.locator('details[open]').nth(1).waitFor()
  const { width } = (await page.locator('canvas').first().boundingBox()) ?? {}
  t.equal(width, 640, 'as wide as paper')
  await page.emulateMedia({ media: 'screen' })
  await page.locator('details:not([open])').nth(1).waitFor()
})

t.test('the page fits a telephone', async (t) => {
  const { page } = await openReport(390)
  for (const summary of await page.locator('summary').all()) await summary.click()
  const inside =
    "[...document.querySelectorAll('.scroll')].every((o) => o.scrollWidth <= o.clientWidth)"
  t.equal(await page.evaluate('document.documentElement.scrollWidth'), 390)
  t.ok(await page.evaluate(inside), 'no table has to be scrolled sideways')
  t.match(await page.locator('.tiles').textContent(), /Billed\s*\$1,234\.50\s*1 bill/)
})

t.test('bars go to both sides of zero on one scale', async (t) => {
  const { page } = await openReport(1_000)
  const boxes = await page.locator('rect.less, rect.more').all()
  const [less, more] = await Promise.all(boxes.map((box) => box.boundingBox()))
  t.ok(less && more && Math.abs(less.width - 2 * more.width) < 2)
  t.ok(less && more && Math.abs(less.x + less.width - more.x) < 2)
})
