import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { t } from 'tap'
import { createBrowser } from '../../rig/chromium.js'
import { createFolder } from '../../rig/folder.js'
import { program, startUntil, tieline } from '../command-line.js'

const folder = createFolder(t)
const home = join(folder, 'data')
const out = join(folder, 'report.html')

const { child } = await startUntil('Ctrl-C', 'demo', '--home', home)
t.teardown(() => void child.kill('SIGKILL'))
const report = (...args: readonly string[]) => tieline('report', ...args, '--home', home)

/** Rows of a query of the published views; every value as text. */
async function rowsOf(statement: string): Promise<readonly (readonly string[])[]> {
  const args = ['--format', 'JSONCompactStringsEachRow', '--home', home]
  const { stdout } = await tieline('sql', statement, ...args)
  const lines = stdout.trim().split('\n').filter(Boolean)
  return lines.map((line) => JSON.parse(line) as readonly string[])
}

/** A cycle of the sample with planted mistakes, and its run in force. */
const [[cycle = '', start = '', run = ''] = []] = await rowsOf(
  `SELECT billing_cycle_id, start_date, run FROM bill_variance WHERE cost_status = 'differs' AND quantity_status = 'differs'
   ORDER BY billing_cycle_id LIMIT 1`,
)
const written = await report('--cycle', cycle, '--start', start, '--out', out)
const page = await (await createBrowser(t)).newPage()
const requests: string[] = []
page.on('request', (request) => requests.push(request.url()))
await page.goto(pathToFileURL(out).href)
await page.locator('canvas').first().waitFor()

/** The rows of a table, found by its caption, without signs of grouping and units. */
async function tableOf(caption: RegExp): Promise<readonly (readonly string[])[]> {
  const rows = page.locator('table', { hasText: caption }).locator('tbody tr')
  const cells = await Promise.all(
    (await rows.all()).map((row) => row.locator('td').allTextContents()),
  )
  return cells.map((row) => row.map((cell) => cell.replaceAll(',', '')))
}

t.test('the command names its file and period', async (t) => {
  t.match(written, { code: 0, stdout: `wrote ${out}\n`, stderr: `cycle ${cycle}, ${start} to ` })
  t.match(await page.title(), `Billing cycle ${cycle}, ${start} to `)
  t.same(requests, [pathToFileURL(out).href], 'one request: the file')
  t.notMatch(readFileSync(out, 'utf8'), /https?:\/\/(?!github\.com|www\.w3\.org)/)
})

t.test('totals are those of the views', async (t) => {
  const where = `WHERE run = '${run}'`
  t.same(
    await tableOf(/Bills of the run by status/),
    await rowsOf(
      `SELECT status, commodity, count(), concat(toDecimalString(sum(p.quantity), 3), ' ', unit), toDecimalString(sum(p.total), 2), '100.0 %'
       FROM projected_bill AS p ${where} GROUP BY status, commodity, unit ORDER BY status, commodity, unit`,
    ),
  )
  t.same(
    await tableOf(/as the utility billed them/),
    await rowsOf(
      `SELECT cost_status, count(), concat(toDecimalString(sum(quantity_billed), 3), ' ', unit), concat(toDecimalString(sum(quantity_computed), 3), ' ', unit),
         toDecimalString(sum(cost_billed), 2), toDecimalString(sum(cost_computed), 2), toDecimalString(sum(cost_difference), 2)
       FROM bill_variance ${where} GROUP BY cost_status, unit ORDER BY cost_status, unit`,
    ),
  )
  const [[computed, billed, difference] = []] = await rowsOf(
    `SELECT toDecimalString((SELECT sum(total) FROM projected_bill ${where}), 2), toDecimalString(sum(cost_billed), 2), toDecimalString(sum(cost_difference), 2)
     FROM bill_variance ${where}`,
  )
  const tiles = await page.locator('.tiles strong').allTextContents()
  t.same(
    tiles.map((tile) => tile.replace(/[$,]/g, '')),
    [computed, '–', billed, difference],
  )
})

t.test('variances and their causes are those of the views', async (t) => {
  const causes = async (kind: string, spelled: string) => {
    const rows = await rowsOf(
      `SELECT count(), ${spelled.replace('WORTH', 'sum(part.2)')}, ${spelled.replace('WORTH', 'sum(abs(part.2))')}
       FROM bill_variance ARRAY JOIN CAST(${kind}_causes, 'Array(Tuple(String, Decimal(18, 6)))') AS part
       WHERE run = '${run}' AND ${kind}_status = 'differs' GROUP BY part.1, unit ORDER BY sum(abs(part.2)) DESC, part.1`,
    )
    t.ok(rows.length > 0, kind)
    return rows
  }
  const shown = (rows: readonly (readonly string[])[]) => rows.map((row) => row.slice(1, 4))
  t.same(
    shown(await tableOf(/Bills whose cost differs/)),
    await causes('cost', 'toDecimalString(WORTH, 2)'),
  )
  t.same(
    shown(await tableOf(/Bills whose quantity differs/)),
    await causes('quantity', "concat(toDecimalString(WORTH, 3), ' ', any(unit))"),
  )
  const outliers = await tableOf(/the largest cost difference first/)
  t.same(
    outliers.map((row) => row.slice(0, 7)),
    await rowsOf(
      `SELECT account_number, meter_id, concat(toString(start_date), ' to ', toString(last_date)), toDecimalString(cost_billed, 2), toDecimalString(cost_computed, 2),
         toDecimalString(cost_difference, 2), concat(toDecimalString(quantity_difference, 3), ' ', unit)
       FROM bill_variance WHERE run = '${run}' AND (cost_status = 'differs' OR quantity_status = 'differs') ORDER BY abs(cost_difference) DESC`,
    ),
  )
  for (const row of outliers) t.match(row.at(-1), /^[a-z ]+ -?\$\d+\.\d\d/)
})

t.test('completeness and load shape are those of the views', async (t) => {
  const meters = `meter_id IN (SELECT meter_id FROM projected_bill WHERE run = '${run}')`
  const [[last = ''] = []] = await rowsOf(`SELECT last_date FROM bill_run WHERE run = '${run}'`)
  const period = `local_day BETWEEN '${start}' AND '${last}'`
  const days = await tableOf(/Silent meters have no read/)
  t.ok(days.length >= 28)
  t.same(
    days.map(([day, meters, expected, present]) => [day, meters, expected, present]),
    await rowsOf(
      `SELECT local_day, count(), sum(intervals_expected), sum(intervals_present) FROM usage_day
       WHERE ${period} AND ${meters} GROUP BY local_day ORDER BY local_day`,
    ),
  )
  const [titles = [], ...hours] = [
    await page
      .locator('table', { hasText: /Average in kW/ })
      .locator('th')
      .allTextContents(),
    ...(await tableOf(/Average in kW/)),
  ]
  const shape = await rowsOf(
    `SELECT rate_code, local_hour, round(toFloat64(sum(quantity)) * 3600 / sum(seconds), 3) FROM registered_usage
     WHERE ${period} AND ${meters} AND commodity = 'Electric' AND seconds <= 3600 AND billing_cycle_id = '${cycle}' GROUP BY ALL`,
  )
  t.equal(shape.length, 24 * (titles.length - 1))
  for (const [rate = '', hour = '', kw] of shape) {
    const column = titles.findIndex((title) => title.startsWith(`${rate} (`))
    t.equal(Number(hours[Number(hour)]?.[column]), Number(kw), `${rate} at ${hour}`)
  }
})

t.test('what cannot be reported is refused with a remedy', async (t) => {
  const cases: readonly (readonly [args: readonly string[], message: RegExp])[] = [
    [['--cycle', '99'], /billing cycle "99" does not exist; name one of 1, 2, 3,/],
    [['--cycle', cycle, '--start', '2020-01-01'], /its periods with bills begin on 2026-/],
    [['--cycle', cycle, '--start', 'soon'], /--start soon is not a day; write the first day/],
    [['--cycle', cycle, '--out', folder], /cannot be written: it is not a file; name a file/],
    [
      ['--cycle', cycle, '--out', join(folder, 'none', 'x.html')],
      /x\.html cannot be written: its folder does not exist; name a file in a writable folder with --out/,
    ],
  ]
  for (const [args, message] of cases) {
    const { code, stderr } = await report(...args)
    t.equal(code, 1)
    t.match(stderr.trim(), message)
  }
})

t.test('without a day and a file the latest ended period is written here', async (t) => {
  const args = [program, 'report', '--cycle', cycle, '--home', home]
  // The sample's nightly job may have computed a later period since the first report.
  const [[latest = ''] = []] = await rowsOf(
    `SELECT max(start_date) FROM bill_run WHERE billing_cycle_id = '${cycle}' AND bills['projected'] = 0
       AND run IN (SELECT run FROM projected_bill WHERE billing_cycle_id = '${cycle}')`,
  )
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: folder })
  const path = join(folder, `cycle-${cycle}-${latest}.html`)
  t.equal(stdout, `wrote ${path}\n`)
  t.match(readFileSync(path, 'utf8'), `<title>Billing cycle ${cycle}, ${latest} to `)
  t.equal(statSync(path).mode & 0o777, 0o600, 'bills are personal')
})
