import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { sampleUsage } from '../../../infra/demo/sample/usage.js'
import { openHome } from '../../../infra/stack/home.js'
import { withOwnStore } from '../../../infra/stack/own-store.js'
import { demoProfilePath, readProfile } from '../../../infra/stack/profile-file.js'
import { endClients } from '../../../pipeline/customers/registrations.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { createZone } from '../../../schemas/time/zone.js'
import { createFolder } from '../../rig/folder.js'
import { createSmallDisk } from '../../rig/small-disk.js'
import { header } from '../../story/rig/stack.js'
import {
  createHome,
  interrupt,
  readStopped,
  startTieline,
  startUntil,
  tieline,
} from '../command-line.js'

const folder = createFolder(t)
const home = await createHome(folder)
const backup = join(folder, 'backup')
const second = join(folder, 'second')
const profile = readProfile(demoProfilePath)
const name = 'DEMO_02072025_Electric.csv'
const hours = (account: string) =>
  Array.from(
    { length: 24 },
    (_, hour) => `${account},S-${account},M-${account},7/1/2025 ${hour}:00,1`,
  )

const linesOf = async (path: string, statement: string) =>
  (await readStopped(path, statement)).split('\n')

const accounts = (path: string) =>
  linesOf(path, 'SELECT account_number, count() FROM usage GROUP BY 1 ORDER BY 1')

const customers = sampleUsage().customers.slice(0, 3)
const [leaver = '', closed = '', stayer = ''] = customers.map(({ clientId }) => clientId)

/** What is left of the accounts, of the clients and of how some ended, read by one engine. */
const remains = (path: string) =>
  linesOf(
    path,
    `SELECT * FROM (
      SELECT account_number AS who, toString(count()) AS what FROM usage GROUP BY 1
      UNION ALL SELECT DISTINCT client_id, 'registered' FROM registration
      UNION ALL SELECT client_id, argMax(kind, at) FROM registration_fact GROUP BY 1
        HAVING argMax(kind, at) != 'seen') ORDER BY what, who`,
  )

const inStore = <T>(use: (store: Store) => Promise<T>) => withOwnStore(openHome(home), profile, use)

const tombstone = (account: string, rank: number) => ({
  account_number: account,
  terminated_on: '2025-07-05',
  ended_at: '2025-07-06 04:00:00',
  started_at: '2025-08-01 04:00:00.000',
  erased_at: rank === 1 ? null : '2025-08-01 04:00:01.000',
  rank,
})

t.before(async () => {
  const path = join(folder, name)
  writeFileSync(path, [header, ...['A', 'B', 'C'].flatMap(hours)].join('\n').concat('\n'))
  const loaded = await tieline('load', path, '--home', home)
  if (loaded.code !== 0) throw new Error(loaded.stderr)
  const list = join(folder, 'customers.jsonl')
  writeFileSync(list, customers.map((one) => JSON.stringify(one)).join('\n'))
  const registered = await tieline('register', list, '--home', home)
  if (registered.code !== 0) throw new Error(registered.stderr)
})

t.test('a backup is not taken while Tieline runs', async (t) => {
  const { child } = await startUntil('Ctrl-C', 'up', '--home', home)
  const taken = await tieline('backup', backup, '--home', home)
  await interrupt(child)
  t.equal(taken.code, 1)
  t.match(taken.stderr, /is already using/)
  t.notOk(existsSync(backup))
})

t.test('a restored copy is verified, and lacks accounts that were erased since', async (t) => {
  await inStore((store) => store.insert('erasure', [tombstone('C', 1)]))
  symlinkSync('/etc/hostname', join(home, 'archive', 'DEMO_01072025_Electric.csv'))
  const taken = await tieline('backup', backup, '--home', home)
  t.match(taken, { code: 0, stdout: /files, .* in / }, taken.stderr)
  t.match(taken.stdout, /! not copied, for they are not files: 1, such as archive\/DEMO_01072025_/)
  const left = await tieline('unregister', leaver, '--home', home)
  t.match(left, { code: 0 }, left.stderr)
  await inStore(async (store) => {
    const context = { store, profile, zone: createZone(profile.timeZone), now: () => new Date() }
    await endClients(context, [closed], 'closed')
    await store.insert('erasure', [tombstone('B', 3), tombstone('C', 3)])
  })
  const later = join(folder, 'DEMO_06072025_Terminations.csv')
  const columns = 'ContractAccount,ExternalSiteID,MeterID,TerminationDate,Reason'
  writeFileSync(later, `${columns}\nA,,,2025-07-31,\n`)
  t.match(await tieline('load', later, '--home', home), { code: 0 })
  const restored = await tieline('restore', backup, '--erasures-of', home, '--home', second)
  t.match(
    restored,
    { code: 0, stdout: /2 erasures since the backup are replayed/ },
    restored.stderr,
  )
  t.match(restored.stdout, /1 clients who left since the backup are unregistered/)
  t.match(
    restored.stdout,
    /tenancies of 1 clients whose accounts were closed since the backup are ended/,
  )
  t.match(restored.stdout, /published_seq of the backup ends at 2;/)
  t.match(
    restored.stdout,
    /! 1 files were published since .*:\n {2}.*DEMO_06072025_Terminations\.csv \(terminations\)\n/,
  )
  t.same(await remains(second), [
    'A\t24',
    `${closed}\tclosed`,
    `${leaver}\tleft`,
    ...[closed, stayer].map((one) => `${one}\tregistered`),
  ])
  const verified = await tieline('verify', '--home', second)
  t.match(verified, { code: 0, stdout: /compared 24 rows/ }, verified.stdout)
  const again = await tieline('load', join(folder, name), '--home', second)
  t.match(again.stdout, /duplicate/)
})

t.test('a restore without the old folder says what it cannot know', async (t) => {
  const third = join(folder, 'third')
  const restored = await tieline('restore', backup, '--home', third)
  t.match(
    restored,
    {
      code: 0,
      stdout: /erased or closed since the backup, and clients who left, may be in it again/,
    },
    restored.stderr,
  )
  t.match(restored.stdout, /files that were published since the backup are not in it; load them/)
  t.same(await accounts(third), ['A\t24', 'B\t24', 'C\t24'])
})

t.test('an erasure that a backup has begun is finished before anybody reads', async (t) => {
  const begun = join(folder, 'begun')
  const third = join(folder, 'third')
  const restored = await tieline('restore', backup, '--erasures-of', third, '--home', begun)
  t.match(
    restored,
    { code: 0, stdout: /1 erasures since the backup are replayed/ },
    restored.stderr,
  )
  t.same(await accounts(begun), ['A\t24', 'B\t24'])
})

t.test('a backup that fills its disk is removed from it', async (t) => {
  const disk = createSmallDisk(t, 1)
  const taken = await tieline('backup', join(disk.path, 'full'), '--home', home)
  t.match(taken, { code: 1, stderr: /no space left for .*full, which was removed; free some or / })
  t.same(readdirSync(disk.path), [])
})

t.test('of two restores into one folder, one is refused and the other is complete', async (t) => {
  const path = join(folder, 'twice')
  const both = await Promise.all([0, 1].map(() => tieline('restore', backup, '--home', path)))
  const [good, refused] = both.sort((a, b) => Number(a.code) - Number(b.code))
  t.match(good, { code: 0, stdout: /restored in .*, 72 rows/ }, good?.stderr ?? '')
  t.match(refused, { code: 1, stderr: /is already using .*twice\.part/ })
  t.same(await accounts(path), ['A\t24', 'B\t24', 'C\t24'])
})

t.test('a backup is not restored for another utility', async (t) => {
  const other = join(folder, 'other.yaml')
  writeFileSync(other, 'database: other\ncompanyCodes: [DEMO]\ntimeZone: America/Detroit\n')
  const elsewhere = openHome(join(folder, 'elsewhere'))
  writeFileSync(join(elsewhere.path, 'profile.path'), other)
  const sixth = join(folder, 'sixth')
  const foreign = await tieline('restore', backup, '--erasures-of', elsewhere.path, '--home', sixth)
  t.match(foreign, { code: 1, stderr: /has the database other, the backup / })
  writeFileSync(join(folder, 'third/profile.path'), join(folder, 'gone.yaml'))
  const moved = join(folder, 'moved')
  const ofThird = ['backup', moved, '--home', join(folder, 'third')]
  t.match(await tieline(...ofThird), { code: 1, stderr: /gone\.yaml, the last profile of/ })
  t.match(await tieline(...ofThird, '--profile', demoProfilePath), { code: 0 })
  for (const words of [
    ['restore', moved, '--home', sixth],
    ['status', '--home', join(folder, 'third')],
  ]) {
    const refused = await tieline(...words, '--profile', other)
    t.match(refused, { code: 1, stderr: /has database \w+, but the profile has other/ })
  }
  t.notOk(existsSync(sixth))
})

t.test('a server of your own is backed up and restored by itself', async (t) => {
  process.env['CLICKHOUSE_URL'] = 'http://127.0.0.1:1'
  t.teardown(() => delete process.env['CLICKHOUSE_URL'])
  const fifth = join(folder, 'fifth')
  for (const words of [
    ['backup', fifth, '--home', home],
    ['restore', backup, '--home', fifth],
  ]) {
    t.match(await tieline(...words), {
      code: 1,
      stderr:
        /CLICKHOUSE_URL is set; use BACKUP and RESTORE of ClickHouse, see infra\/deploy\/backup\.md/,
    })
  }
  t.notOk(existsSync(fifth))
})

t.test('nothing is overwritten, and an altered or incomplete backup is refused', async (t) => {
  const full = await tieline('restore', backup, '--home', second)
  t.match(full, { code: 1, stderr: /is not empty; name a new folder/ })
  t.match((await tieline('backup', backup, '--home', home)).stderr, /is not empty/)
  symlinkSync(join(home, 'archive'), join(folder, 'link'))
  const within = await tieline('backup', join(folder, 'link/backup'), '--home', home)
  t.match(within, { code: 1, stderr: /lies in .*archive, which is backed up/ })
  const [path] = JSON.parse(readFileSync(join(backup, 'backup.json'), 'utf8')).files[0]
  appendFileSync(join(backup, path), 'x')
  const fourth = join(folder, 'fourth')
  const altered = await tieline('restore', backup, '--home', fourth)
  t.match(altered, { code: 1, stderr: /was altered after the backup was taken/ })
  t.notOk(existsSync(fourth))
  t.notOk(existsSync(`${fourth}.part`), 'no copy remains that lacks its erasures')
  const manifest = readFileSync(join(backup, 'backup.json'), 'utf8')
  const leading = manifest.replace(JSON.stringify(path), '"archive/../../escaped"')
  writeFileSync(join(backup, 'backup.json'), leading)
  writeFileSync(join(backup, '../escaped'), '')
  const escaped = await tieline('restore', backup, '--home', join(folder, 'deep/fourth'))
  t.match(escaped, { code: 1, stderr: /is not the manifest of a complete backup/ })
  t.notOk(existsSync(join(folder, 'deep/escaped')))
  rmSync(join(backup, 'backup.json'))
  mkdirSync(fourth)
  const cut = await tieline('restore', backup, '--home', fourth)
  t.match(cut, { code: 1, stderr: /is not the manifest of a complete backup/ })
})

t.test('Ctrl-C ends a copy in the middle of a file and removes what is partial', async (t) => {
  const own = createFolder(t)
  const { path, archive } = openHome(join(own, 'data'))
  const [taken, restored] = [join(own, 'taken'), join(own, 'restored')]
  const manifest = { v: 1, takenAt: '2025-07-03T00:00:00.000Z', files: [['archive/big', 0, '']] }
  writeFileSync(join(path, 'backup.json'), JSON.stringify(manifest))
  writeFileSync(join(archive, 'big'), '')
  truncateSync(join(archive, 'big'), 1e9)
  for (const [to, ...command] of [
    [taken, 'backup', taken, '--home', path],
    [restored, 'restore', path, '--home', restored],
  ] as const) {
    const child = startTieline(...command)
    while (!existsSync(join(`${to}.part`, 'archive/big'))) await sleep(5)
    t.equal(await interrupt(child), 130, command[0])
    t.same(readdirSync(own), ['data'])
  }
})
