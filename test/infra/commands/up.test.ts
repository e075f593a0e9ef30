import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { describeStack } from '../../../infra/commands/up.js'
import type { InUse } from '../../../infra/commands/use-stack.js'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { openHome } from '../../../infra/stack/home.js'
import { demoProfilePath } from '../../../infra/stack/profile-file.js'
import { createFolder } from '../../rig/folder.js'
import { header, storyProfile } from '../../story/rig/stack.js'
import { createHome, interrupt, oneDay, startUntil, tieline } from '../command-line.js'

t.test('a start names the folders that files are taken from, and no other', async (t) => {
  const home = openHome(createFolder(t))
  const servers = { store: { url: 'http://127.0.0.1:1' }, reader: {}, redisUrl: 'redis://a' }
  const linesOf = (sources: readonly object[] | undefined) => {
    const profile = storyProfile({ profile: { ...(sources && { sources }) } })
    const lines = describeStack({ ...servers, home, profile } as unknown as InUse).split('\n')
    return lines.filter((line) => line.startsWith('inbox'))
  }
  t.same(linesOf(undefined), [`inbox       ${home.inbox}`])
  const shares = [
    { kind: 'folder', name: 'ami', path: '/srv/ami' },
    { kind: 'folder', name: 'own', path: 'inbox' },
  ]
  t.same(linesOf(shares), ['inbox       /srv/ami, source ami', `inbox       ${home.inbox}`])
  t.same(linesOf([]), [])
})

t.test('commands share the stack that runs on their data folder', async (t) => {
  const folder = createFolder(t)
  const home = await createHome(folder)
  const file = join(folder, 'DEMO_02072025_Electric.csv.gz')
  await usageFile(file, oneDay)
  const { child: up } = await startUntil('Ctrl-C', 'up', '--home', home)

  const again = await tieline('up', '--home', home)
  t.match(again, { code: 1, stderr: new RegExp(`^tieline: ALREADY_RUNNING: pid ${up.pid} `) })
  const doctor = await tieline('doctor', '--home', home)
  t.match(doctor.stdout, new RegExp(`✓ stack +pid ${up.pid} `))
  const loaded = await tieline('load', file, '--home', home)
  t.match(loaded, { code: 0, stdout: /published +960/ })
  const other = join(folder, 'other.yaml')
  writeFileSync(other, `${readFileSync(demoProfilePath, 'utf8')}\nclosedStatuses: [F]\n`)
  t.match(await tieline('load', file, '--home', home, '--profile', other), {
    code: 1,
    stderr: new RegExp(
      `CONFIG: pid ${up.pid} .*another \\(or older\\) profile than ${other}.*omit --profile`,
    ),
  })
  const early = join(folder, 'DEMO_02072025_Gas.csv')
  writeFileSync(early, `${header}\nA,S,M,7/1/2025,1\nA,S,M2,12/31/2105,1\n`)
  t.match(await tieline('load', early, '--home', home), { code: 0 })
  const status = JSON.parse((await tieline('status', '--json', '--home', home)).stdout)
  t.match(status, {
    sources: [{ name: 'inbox', kind: 'folder', state: 'polled' }],
    disk: { folder: join(home, 'landing'), freeBytesMin: 1_073_741_824 },
    files: [
      { status: 'published', files: '1', rows: '960' },
      { status: 'published with rejects', files: '1', rows: '2' },
    ],
    freshness: [
      { company_code: 'DEMO', commodity: 'Electric', late: true },
      { company_code: 'DEMO', commodity: 'Gas', late: true },
    ],
  })
  t.ok(status.freshness[1].age_hours >= 0, 'no read is newer than the file it came with')
  t.match(
    (await tieline('status', '--home', home, '--profile', demoProfilePath)).stdout,
    /published with rejects +1 +2/,
  )
  t.match(await tieline('pause', 'inbox', '--home', home), { code: 0, stdout: /resume inbox/ })
  t.match((await tieline('status', '--home', home)).stdout, /inbox +folder +paused/)
  t.match(await tieline('resume', 'inbox', '--home', home), { code: 0 })
  t.match((await tieline('status', '--home', home)).stdout, /inbox +folder +polled/)
  t.match(await tieline('pause', 'outbox', '--home', home), {
    code: 1,
    stderr: 'tieline: CONFIG: the profile has no source outbox; use one of inbox\n',
  })
  t.match(await tieline('sql', 'SELECT 1 +', '--home', home), {
    code: 1,
    stderr: /^tieline: STORE_REFUSED: [^\n]+\n$/,
  })
  t.match(await tieline('sql', 'TRUNCATE TABLE usage_read', '--home', home), { code: 1 })

  t.equal(await interrupt(up), 0)
  t.notOk(existsSync(join(home, 'run.json')))
})
