import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { recordFailure } from '../../../pipeline/sources/state.js'
import { createBrowser } from '../../rig/chromium.js'
import { openPage, panelText, shows } from '../../story/rig/browser-page.js'
import { header, openStory, until } from '../../story/rig/stack.js'
import { tieline } from '../command-line.js'

const away = { kind: 'folder', name: 'away', path: 'away', pollSeconds: 3_600 }
const inbox = { kind: 'folder', name: 'inbox', path: 'inbox', pollSeconds: 1, settlePolls: 2 }
const story = await openStory(t, {
  profile: { sources: [inbox, away], files: { ignore: ['*.tmp.xlsx', 'DEMO_*'] } },
})
const address = story.stack.worker.detail().operations ?? ''
const browser = await createBrowser(t)
const { page, errors } = await openPage(browser, `${address}/`)
const at = ['--home', story.home.path]
const text = `${header}\n1,2,M-1,3/4/2024 0:00,1\n1,2,M-1`
const [one, two] = ['DEMO_05032024_Electric.csv', 'DEMO_06032024_Electric.csv']
const status = async () => (await tieline('status', ...at)).stdout
const fail = (since: Date) =>
  recordFailure(story.store, 'away', {
    failures: 2,
    code: 'SOURCE_UNREACHABLE',
    detail: 'no route',
    since,
    retryAt: new Date(Date.now() + 3_600_000),
  })

t.test(
  'a quarantined file is dismissed by a command, with a reason in the audit log',
  async (t) => {
    for (const name of [one, two]) {
      t.match(await story.loadBytes(name, text), { status: 'quarantined' })
    }
    t.match(await status(), new RegExp(one))
    const nameless = await tieline('dismiss', 'nothing', '--because', 'x', ...at)
    t.match(nameless, {
      code: 1,
      stderr: /nothing is not an open problem; open are .*DEMO_06032024/,
    })
    t.match(await tieline('dismiss', one, ...at), { code: 1, stderr: /--because/ })
    t.match(await tieline('dismiss', one, '--because', ' ', ...at), { code: 1, stderr: /reason/ })
    const done = await tieline('dismiss', one, '--because', 'sent again by mail', ...at)
    t.match(done, { code: 0, stdout: /1 problem of DEMO_05032024_Electric\.csv dismissed/ })
    const shown = await status()
    t.notMatch(shown, new RegExp(one))
    t.match(shown, new RegExp(two))
    t.match(
      await story.store.rows({
        sql: `SELECT via, subject, detail FROM audit_log WHERE act = 'dismiss'`,
      }),
      [{ via: 'command', subject: 'quarantined:1', detail: 'sent again by mail' }],
    )
  },
)

t.test('a narrow screen shows no header row over the rows', async (t) => {
  await page.setViewportSize({ width: 390, height: 900 })
  await page.locator('[data-panel="files"] td').first().waitFor()
  t.equal(await page.locator('thead th:visible').count(), 0)
  const badge = await page.locator('[data-panel="files"] td .badge').first().boundingBox()
  t.ok((badge?.width ?? 390) < 140, 'a badge is as wide as its word')
  await page.setViewportSize({ width: 1_440, height: 900 })
  t.ok((await page.locator('[data-panel="files"] thead th:visible').count()) > 0)
})

t.test('the page dismisses too, and a problem that occurs again is shown again', async (t) => {
  await until(async () => /away/.test(await status()))
  await fail(new Date('2026-01-02T03:04:05.678Z'))
  await shows(page, 'attention', /source away\s*SOURCE_UNREACHABLE.*Since 2026-01-02 03:04 UTC/)
  const refused = await fetch(`${address}/problems/dismiss?key=source:away&because=x`, {
    method: 'POST',
  })
  t.equal(refused.status, 403, 'another page cannot send it')
  const item = page.locator('.attention li', { hasText: 'source away' })
  await item.getByRole('button', { name: 'dismiss' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'dismiss' }).click()
  t.ok(await dialog.isVisible(), 'a reason is required')
  await dialog.getByLabel('Reason').fill('the vendor moves its server')
  await dialog.getByRole('button', { name: 'dismiss' }).click()
  await until(async () => !/source away/.test(await panelText(page, 'attention')))
  t.match(await panelText(page, 'attention'), new RegExp(two), 'another problem stays')
  await fail(new Date('2026-01-02T04:04:05.678Z'))
  await shows(page, 'attention', /source away\s*SOURCE_UNREACHABLE.*Since 2026-01-02 04:04 UTC/)
  t.match(
    await story.store.rows({
      sql: `SELECT who, via, detail FROM audit_log ORDER BY number DESC LIMIT 1`,
    }),
    [{ who: 'loopback', via: 'page', detail: 'the vendor moves its server' }],
  )
  t.same(errors, [])
})

t.test(
  'files.ignore leaves files that no feed could mean where they are, counted once',
  async (t) => {
    const { inbox } = story.home
    for (const name of ['a.tmp.xlsx', 'b.tmp.xlsx']) writeFileSync(join(inbox, name), 'x')
    await story.send('DEMO_07032024_Gas.csv', `${header}\n1,2,M-2,3/4/2024 0:00,1\n`)
    t.match(await story.receiptOf('DEMO_07032024_Gas.csv'), { status: 'published' }, 'a feed loads')
    await shows(page, 'sources', /files ignored by files\.ignore: 2/)
    t.match(await status(), /inbox: files ignored by files\.ignore: 2/)
    t.ok(existsSync(join(inbox, 'a.tmp.xlsx')))
    t.equal(story.logs().match(/files ignored by files\.ignore: 2/g)?.length, 1)
  },
)
