/**
 * # 12.2 Operations watch
 *
 * What: The operations page shows files, problems, throughput and queues, and reprocesses a
 * file.
 * Why: An operator at night must see what is wrong and what to do.
 * Try: Open the address that `tieline up` prints, and load a bad file.
 */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { followChain, recordAct } from '../../../pipeline/ledger/audit.js'
import { arrivalPaths } from '../../../pipeline/ledger/outbox.js'
import { tieline } from '../../infra/command-line.js'
import { createBrowser } from '../../rig/chromium.js'
import { fitsWidth, hasAllColumns, openPage, panelText, shows } from '../rig/browser-page.js'
import { askPanels, publishRun } from '../rig/panels-asked.js'
import { follow, header, openStory, until } from '../rig/stack.js'

const story = await openStory(t)
const browser = await createBrowser(t)
const address = story.stack.worker.detail().operations ?? ''

const open = (path: string) => openPage(browser, `${address}${path}`)

const rowOf = (meter: string, quantity: string) =>
  `910020000001,5113000001,${meter},3/4/2024 0:00,${quantity}`
const good = Array.from({ length: 20 }, (_, at) => rowOf(`G-${at}`, '1.5'))
const poor = Array.from({ length: 12 }, (_, at) => rowOf(`P-${at}`, 'n/a'))
const poorName = 'DEMO_05032024_Electric_2.csv'
const markup = '<img src=x onerror=alert(1)>_05032024_Electric.csv'

const { page: overview, errors: overviewErrors } = await open('/')

t.test('without data, each panel says so', async (t) => {
  await shows(overview, 'attention', /No file is waiting/)
  await shows(overview, 'files', /No files have arrived/)
  await shows(overview, 'minutes', /No rows were processed/)
  await shows(overview, 'freshness', /No usage has been published/)
  await shows(overview, 'completeness', /No reads/)
  await shows(overview, 'cycles', /No billing cycle/)
  await shows(overview, 'variance', /No computed bills have been compared/)
  await shows(overview, 'gateway', /This profile has no gateway/)
  await shows(overview, 'sources', /inbox\s*folder\s*polled/)
  await shows(overview, 'queues', /Free disk space for files.*Empty: .*load, .*settle/s)
  t.ok(await fitsWidth(overview), 'it fits the width of a telephone')
  t.same(overviewErrors, [])
})

t.test('it shows new files without a reload', async (t) => {
  await story.loadBytes('DEMO_05032024_Electric.csv', `${[header, ...good].join('\n')}\n`)
  const text = `${[header, ...good.map((row) => row.replace('G-', 'R-')), ...poor].join('\n')}\n`
  t.match(await story.loadBytes(poorName, text), { status: 'quarantined' })
  await story.loadBytes(markup, text)
  await shows(overview, 'files', /DEMO_05032024_Electric\.csv/)
  await shows(overview, 'files', /<img src=x onerror=alert\(1\)>/)
  await shows(overview, 'attention', /TOO_MANY_REJECTED.*12 of 32 rows/)
  await shows(overview, 'minutes', /\d+ rows in the last hour/)
  await shows(overview, 'minutes', /30 kWh of Electric/)
  t.ok(await hasAllColumns(overview), 'a table shows all of its columns')
  await shows(overview, 'freshness', /DEMO\s*Electric.*late/)
  t.equal(await overview.locator('main img').count(), 0, 'markup in a name is text')
  await until(async () => (await overview.locator('[data-panel="minutes"] canvas').count()) > 0)
  const chart = overview.locator('[data-panel="minutes"] .chart').first()
  t.match(await chart.getAttribute('aria-label'), /Rows per minute.*rows in the last hour/)
  await overview.locator('[data-panel="minutes"] summary').first().click()
  await shows(overview, 'minutes', /timerows/)
  t.ok(await fitsWidth(overview))
  t.same(overviewErrors, [])
})

const arrivalOf = async (name: string) =>
  (
    await story.store.rows<{ arrival: number }>({
      sql: 'SELECT max(arrival) AS arrival FROM arrival WHERE name = {name:String}',
      parameters: { name },
    })
  )[0]?.arrival ?? 0

const order = (arrival: number, act: string, headers: Readonly<Record<string, string>>) =>
  fetch(`${address}/files/${arrival}/${act}`, { method: 'POST', headers })

t.test("a file's page shows the date order, rejected rows and actions", async (t) => {
  const arrival = await arrivalOf(poorName)
  const { page, errors } = await open(`/file?arrival=${arrival}`)
  const text = async () => (await page.locator('main').textContent()) ?? ''
  await until(async () => /P-0,3\/4\/2024 0:00,n\/a/.test(await text()))
  t.match(await text(), /Order of day and month.*Proof\S/)
  t.match(await text(), /Rows by outcome; quantities in kWh, the unit of the profile/)
  t.match(await text(), /Rows in the repeated hour/)
  t.match(await text(), /NOT_A_NUMBERTotalUnit12line \d+: .*line \d+: .*line \d+: /s)
  const kinds = page.locator('#rejects ~ .scroll').first()
  t.equal(await kinds.locator('tbody code').count(), 3, 'three examples of the cause')
  t.match(await text(), /Location: \S+\/desk\/DEMO_05032024_Electric_2\.csv/)
  for (const [name, expected] of [
    ['Download the receipt', /"status": ?"quarantined"/],
    ['Download the rejected rows', /P-11,3\/4\/2024 0:00,n\/a/],
  ] as const) {
    const waiting = page.waitForEvent('download')
    await page.getByRole('link', { name }).click()
    t.match(readFileSync(await (await waiting).path(), 'utf8'), expected)
  }
  t.ok(await fitsWidth(page))
  t.ok(await hasAllColumns(page))
  t.equal((await order(arrival, 'accept', {})).status, 403, 'another page cannot send it')
  const elsewhere = { origin: 'https://elsewhere.example.com' }
  t.equal((await order(arrival, 'accept', elsewhere)).status, 403)
  await page.getByRole('button', { name: 'accept' }).focus()
  await page.keyboard.press('Enter')
  await page.keyboard.press('Enter')
  await until(async () => /Reprocessed as arrival/.test(await text()))
  const again = await arrivalOf(poorName)
  t.equal(again, arrival + 2, 'after the file that arrived meanwhile')
  await until(() =>
    existsSync(arrivalPaths(story.home.outbox, { arrival: again, fileName: poorName }).receipt),
  )
  t.match(await story.receiptOf(poorName), {
    status: 'published',
    rows: { read: 32, accepted: 20, rejected: 12 },
  })
  await until(async () => /accept by loopback \(page\)/.test(await text()))
  await shows(overview, 'files', /DEMO_05032024_Electric_2\.csv\s*published\s*with rejects/)
  const refused = await order(arrival, 'retry', { origin: address })
  t.match(
    [refused.status, await refused.json()],
    [409, { detail: /is reprocessed already \(accept\)/ }],
  )
  t.match(await followChain(story.store), { broken: undefined })
  t.same(errors, [])
  await page.close()
})

t.test('a recorded order is carried out once, even if its job was lost', async (t) => {
  const arrival = await arrivalOf(markup)
  const act = {
    act: 'retry',
    subject: String(arrival),
    detail: 'recorded, and nothing queued',
  } as const
  const ann = { who: 'ann', via: 'command' } as const
  await recordAct(story.store, ann, act)
  await recordAct(story.store, ann, act)
  await until(async () => (await arrivalOf(markup)) > arrival)
  const again = await arrivalOf(markup)
  t.match(await follow(story.submission, again), { status: 'quarantined', reason: /FILE_NAME/ })
  const [found] = await story.store.rows<{ arrivals: string }>({
    sql: `SELECT count() AS arrivals FROM arrival WHERE claim = {claim:String}`,
    parameters: { claim: `reprocess-${arrival}` },
  })
  t.equal(Number(found?.arrivals), 1)
})

t.test('commands do the same, and report why an action is not possible', async (t) => {
  const name = 'DEMO_06032024_Electric.csv'
  const text = `${[header, ...good.map((row) => row.replace('G-', 'C-')), ...poor].join('\n')}\n`
  await story.send(name, text)
  t.match(await story.receiptOf(name), { status: 'quarantined' })
  const home = ['--home', story.home.path]
  const retried = await tieline('retry', 'DEMO_01012020_Electric.csv', ...home)
  t.match(retried, { code: 1, stderr: /DEMO_01012020_Electric\.csv not found/ })
  const published = await tieline('retry', 'DEMO_05032024_Electric.csv', ...home)
  t.match(published, { code: 1, stderr: /only quarantined files can be retried or accepted/ })
  const released = await tieline('accept', name, ...home)
  t.match(released, { code: 0, stdout: /DEMO_06032024_Electric\.csv +published/ })
  const written = await story.store.rows({
    sql: 'SELECT via, act, detail FROM audit_log ORDER BY number',
  })
  t.match(written.at(0), { via: 'command', act: 'profile' }, 'the first start recorded its profile')
  t.match(written.at(-1), { via: 'command', act: 'accept', detail: /^DEMO_06032024/ })
})

t.test('the latest compared run is shown by dollars and causes', async (t) => {
  const runs = ['1', '2', '3'].map(
    (run) => `('${run}', '7', '2024-02-01', '2024-02-29', map(), 0, 0, now64(3), [], '', '{}')`,
  )
  await story.store.command({
    sql: `INSERT INTO bill_run_row (run, billing_cycle_id, start_date, last_date, bills, total, usage_version, known_at,
        rate_file_ids, cycle_file_id, settings) VALUES ${runs.join(', ')}`,
  })
  for (const run of ['1', '2', '3']) {
    await publishRun(story.store, run, new Date().toISOString().replace('Z', ''))
  }
  await story.store.command({
    sql: `INSERT INTO bill_variance_row (run, account_number, meter_id, cost_billed, cost_computed, cost_status, cost_causes)
      VALUES ('1', 'A-1', 'M-1', 10, 900, 'differs', map('unexplained', 890)),
        ('2', 'A-1', 'M-1', 10, 12.5, 'differs', map('rateVersion', 2, 'rounding', 0.5)),
        ('2', 'A-2', 'M-2', 10, 10.01, 'match', map('rounding', 0.01)),
        ('2', 'A-3', 'M-3', 999, 1, 'differs', map('missingIntervals', -998)),
        ('2', 'A-4', 'M-4', NULL, 7, 'notBilled', map()),
        ('4', 'A-1', 'M-1', 10, 900, 'differs', map('unexplained', 890))`,
  })
  await overview.close()
  const { page, errors } = await open('/')
  await shows(
    page,
    'variance',
    /Cycle 7, 2024-02-01 to 2024-02-29.*: 2 differs, 1 match, 1 notBilled\./,
  )
  const tables = page.locator('[data-panel="variance"] table')
  const cells = (at: number) => tables.nth(at).locator('tbody tr').allInnerTexts()
  const trimmed = (rows: readonly string[]) => rows.map((row) => row.trim().split(/\s*[\t\n]\s*/))
  t.same(
    trimmed(await cells(0)).filter(([, bills]) => bills !== '0'),
    [
      ['below -100', '1'],
      ['-0.05 to 0.05', '1'],
      ['1 to 5', '1'],
    ],
  )
  t.same(trimmed(await cells(1)), [
    ['missingIntervals', '-998.00', '1'],
    ['rateVersion', '2.00', '1'],
    ['rounding', '0.51', '2'],
  ])
  t.notMatch(await panelText(page, 'variance'), /A-\d|M-\d/, 'no customer is shown')
  t.ok(await fitsWidth(page))
  t.same(errors, [])
  await page.close()
})

t.test('100,000 rejected rows of a file are shown in pages', async (t) => {
  const arrival = await arrivalOf(markup)
  await story.store.command({
    sql: `INSERT INTO reject (arrival, line, column_name, code, detail, raw)
      SELECT {arrival:UInt32}, number + 2, 'TotalUnit', 'NOT_A_NUMBER', 'n/a is not a number', 'a,b,c'
      FROM numbers(100000)`,
    parameters: { arrival },
  })
  const { page, errors } = await open(`/file?arrival=${arrival}`)
  await until(async () => (await page.getByRole('button', { name: 'Next page' }).count()) === 1)
  const lines = page.locator('#rejects ~ .scroll').last().locator('tbody tr')
  t.equal(await lines.count(), 50)
  await page.getByRole('button', { name: 'Next page' }).click()
  await until(async () => /^52/.test((await lines.first().textContent()) ?? ''))
  t.match(await page.locator('main').textContent(), /100,000/)
  t.same(errors, [])
  await page.close()
})

t.test('Bull Board is part of the page, read-only, and shows only ids', async (t) => {
  const rows = good.map((row) => row.replace('G-', 'B-'))
  await story.loadBytes('DEMO_07032024_Electric.csv', `${[header, ...rows].join('\n')}\n`)
  const { page, errors } = await open('/queues/queue/load?status=completed')
  await until(async () => /load-\d+/.test((await page.locator('#root').textContent()) ?? ''))
  const asked = 'queues/api/queues?activeQueue=load&status=completed'
  const text = await (await fetch(`${address}/${asked}`)).text()
  const { queues } = JSON.parse(text) as { queues: { name: string; readOnlyMode: boolean }[] }
  t.match(text, /"data":\{"arrival":\d+,"chunk":0\}/, 'the ids of a job are shown')
  t.notMatch(text, /"v":/, 'and no other data')
  const emptied = await fetch(`${address}/queues/api/queues/load/clean/completed`, {
    method: 'PUT',
    headers: { origin: address },
  })
  t.equal(emptied.status, 404, 'it changes nothing')
  t.ok(queues.length > 5 && queues.every(({ readOnlyMode }) => readOnlyMode))
  t.same(
    errors.filter((error) => !/fonts\.googleapis\.com|inline style/.test(error)),
    [],
    'its scripts run under the policy',
  )
  await page.close()
})

t.test('panels show the completeness of days and the progress of cycles', (t) =>
  askPanels(t, story),
)
