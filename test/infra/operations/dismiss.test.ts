import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { status as showStatus } from '../../../infra/commands/status.js'
import { dismissProblems, readOpenSystems } from '../../../infra/operations/dismiss.js'
import { readProblemsOf } from '../../../infra/operations/problems.js'
import { createSystems, type SystemName } from '../../../pipeline/ledger/systems.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { recordFailure } from '../../../pipeline/sources/state.js'
import { damageKinds, recordDamage, subjectOn } from '../../../pipeline/verify/damage.js'
import { Fault } from '../../../schemas/fault.js'
import { createBrowser } from '../../rig/chromium.js'
import { openPage, panelText, shows } from '../../story/rig/browser-page.js'
import { header, openStory, storyProfile, until } from '../../story/rig/stack.js'
import { commandContext, tieline } from '../command-line.js'

const away = { kind: 'folder', name: 'away', path: 'away', pollSeconds: 3_600 }
const nowhere = 'http://127.0.0.1:1'
const inbox = { kind: 'folder', name: 'inbox', path: 'inbox', pollSeconds: 1, settlePolls: 2 }
const settings = {
  profile: {
    sources: [inbox, away],
    files: { ignore: ['*.tmp.xlsx', 'DEMO_*'] },
    cis: { kind: 'rest', url: nowhere },
    ami: { kind: 'rest', url: nowhere },
    identity: { kind: 'oidc', claim: 'sub', issuers: [{ issuer: nowhere, audience: 'tieline' }] },
    ingestion: 'backfill',
    backfill: { url: nowhere },
  },
}
const profile = storyProfile(settings)
const story = await openStory(t, settings)
const address = story.stack.worker.detail().operations ?? ''
const browser = await createBrowser(t)
const { page, errors } = await openPage(browser, `${address}/`)
const at = ['--home', story.home.path]
const text = `${header}\n1,2,M-1,3/4/2024 0:00,1\n1,2,M-1`
const [one, two] = ['DEMO_05032024_Electric.csv', 'DEMO_06032024_Electric.csv']
const status = async () => {
  const printed: string[] = []
  const context = commandContext(story.home.path, (text) => printed.push(text))
  await showStatus(context, { json: false })
  return printed.join('')
}
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
    for (const name of [one, one, two]) {
      t.match(await story.loadBytes(name, text), { status: 'quarantined' })
    }
    t.equal((await status()).split(one).length, 2, 'a name that was sent again is listed once')
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
      [{ via: 'command', subject: 'quarantined:2', detail: 'sent again by mail' }],
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

t.test('every kind of problem is dismissed, and shown again if it occurs again', async (t) => {
  const { store, stack } = story
  const queues = createQueues({ redisUrl: stack.redisUrl, prefix: profile.database })
  t.teardown(queues.close)
  const listed = async () => {
    const { waiting, quarantined, missing } = await readProblemsOf({ store, queues })
    const systems = await readOpenSystems(store, profile)
    const files = [...waiting, ...quarantined].map(({ key, file }) => [key, file])
    const damage = missing.map(({ key, subject }) => [key, subject])
    const away = systems.map(({ system }) => [`system:${system}`, system])
    return new Map([...files, ...damage, ...away] as [string, string][])
  }
  const report = async (names: readonly SystemName[], fault: Fault | undefined) => {
    const systems = createSystems({
      store,
      profile,
      kinds: [],
      onFailure: (one) => t.fail(one.message),
    })
    for (const one of names) systems.report(one, fault)
    await systems.close()
  }
  const systems: readonly SystemName[] = ['cis', 'ami', 'mdm', `identity ${nowhere}`]
  const damaged = (rows: number) =>
    recordDamage(
      store,
      {
        covered: 'files',
        machine: 'a',
        kinds: ['chunk', 'archive'],
        rows,
        damage: damageKinds.map((kind) => {
          return {
            kind,
            subject: subjectOn('a', `the ${kind}`),
            arrival: 1,
            rows,
            quantity: '1',
            detail: `a ${kind}`,
          }
        }),
      },
      new Date(),
    )
  await report(systems, new Fault('CIS_UNREACHABLE', 'no route'))
  await damaged(1)
  const cut = 'DEMO_08032024_Gas.csv'
  await story.send(cut, `${header}\n1,2,M-9,3/4/2024 0:00,1\n1,2,M-9`)
  await until(async () => [...(await listed()).values()].includes(cut))
  const open = await listed()
  t.match(
    [...open.keys()].map((key) => key.replace(/[: ].*/, '')),
    {
      length: 1 + 1 + damageKinds.length + systems.length,
    },
  )
  for (const [key, name] of open) {
    const because = `known: ${key}`
    const at = { store, queues, profile }
    t.equal(await dismissProblems(at, { who: 'ann', via: 'page' }, { name, because }), 1, key)
    t.notOk((await listed()).has(key), key)
    t.match(
      await store.rows({
        sql: 'SELECT who, subject FROM audit_log WHERE detail = {because:String}',
        parameters: { because },
      }),
      [{ who: 'ann', subject: new RegExp(`^${key.replace(/[.*+?]/g, '.')}`) }],
    )
    await t.rejects(dismissProblems(at, { who: 'ann', via: 'page' }, { name, because }), {
      code: 'CONFIG',
    })
  }
  await damaged(1)
  t.same([...(await listed()).keys()], [], 'found again as it was')
  t.notMatch(await status(), /CIS_UNREACHABLE|missing or damaged|DEMO_08032024/)
  await damaged(2)
  await report(systems, undefined)
  await sleep(1_000)
  await report(systems, new Fault('CIS_UNREACHABLE', 'no route'))
  const again = [...(await listed()).keys()].sort()
  const expected = [...open.keys()].filter((key) => /^(damage|system):/.test(key)).sort()
  t.same(again, expected, 'a system that fails again, and damage of more rows')
})
