import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { addReader, listReaders, readersFolder } from '../../../infra/clickhouse/readers.js'
import { openHome } from '../../../infra/stack/home.js'
import { withOwnStore } from '../../../infra/stack/own-store.js'
import { demoProfilePath, readProfile } from '../../../infra/stack/profile-file.js'
import { pushSource } from '../../../pipeline/intake/arrive.js'
import { pushedAs } from '../../../pipeline/intake/sender.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { createFolder } from '../../rig/folder.js'
import { someOf } from '../../rig/sample.js'
import { header, until } from '../../story/rig/stack.js'
import { createHome, interrupt, readerOf, startUntil, tieline } from '../command-line.js'

const folder = createFolder(t)
const home = await createHome(folder)
const backup = join(folder, 'backup')
/** The data folder while it is not there. */
const gone = join(folder, 'gone')

const textOf = (meter: string) => `${header}\nA,S,${meter},7/1/2025 0:00,1\n`

/** Claims files as a stack does that is stopped before it reads them. */
async function claim(files: readonly { source: string; name: string; path: string }[]) {
  await withOwnStore(openHome(home), readProfile(demoProfilePath), async (store) => {
    const ledger = createLedger(store, () => new Date())
    for (const file of files) {
      const { size, mtimeMs } = statSync(file.path)
      const entry = { bytes: size, modifiedMs: Math.trunc(mtimeMs), force: false }
      await ledger.claim({ ...file, ...entry })
    }
  })
}

const states = `SELECT name, status, rows_accepted FROM arrival
  LEFT JOIN file_state FINAL USING (arrival) ORDER BY arrival`

/** The profile of the demo with a second folder of the data folder. */
const profile = join(folder, 'sources.yaml')
writeFileSync(
  profile,
  readFileSync(demoProfilePath, 'utf8').replace(
    '\nsources:\n',
    '\nsources:\n  - { kind: folder, name: ami, path: in/ami, pollSeconds: 1 }\n',
  ),
)
writeFileSync(join(home, 'profile.path'), profile)
mkdirSync(join(home, 'in/ami'), { recursive: true })

t.test('files that were in progress are loaded from the restored folder', async (t) => {
  const { child } = await startUntil('Ctrl-C', 'up', '--home', home)
  await interrupt(child)
  const { inbox, pushed, clickhouse } = openHome(home)
  addReader(readersFolder(clickhouse), { name: 'ann', seesAudit: false })
  const files = [
    { source: 'inbox', name: 'DEMO_02072025_Electric.csv', folder: inbox },
    { source: 'ami', name: 'DEMO_04072025_Electric.csv', folder: join(home, 'in/ami') },
    { source: pushSource, name: 'DEMO_03072025_Electric_1.csv', folder: pushed },
  ].map(({ source, name, folder }) => {
    const as = source === pushSource ? pushedAs({ sender: 'ami', name }) : name
    return { source, name, path: join(folder, as) }
  })
  for (const [at, { path }] of files.entries()) writeFileSync(path, textOf(`M${at}`))
  await claim(files)
  t.match(await tieline('backup', backup, '--home', home), { code: 0 })
  const readers = (path: string) => listReaders(readersFolder(openHome(path).clickhouse))
  for (const isThere of someOf([true, false])) {
    if (!isThere) renameSync(home, gone)
    const second = join(folder, `second-${isThere}`)
    const restored = await tieline('restore', backup, '--home', second)
    t.match(restored, { code: 0 }, restored.stderr)
    t.match(readers(second), [{ name: 'ann' }])
    t.equal(openHome(second).machine, openHome(isThere ? home : gone).machine)
    const { child } = await startUntil('Ctrl-C', 'up', '--home', second)
    const read = readerOf(t, second)
    await until(async () => (await read('SELECT count() FROM usage')) === '3')
    await until(() => readdirSync(join(second, 'archive')).length === 3)
    const expected = files.map(({ name }) => `${name}\tpublished\t1`).join('\n')
    t.equal(await read(states), expected, 'each once')
    await interrupt(child)
    if (isThere)
      for (const { path } of files) t.ok(existsSync(path), 'the old ones are not touched')
    t.match(await tieline('verify', '--home', second), { code: 0 })
  }
})

t.test('a restore beside the running original says so, and overwrites nothing', async (t) => {
  if (existsSync(gone)) renameSync(gone, home)
  const inside = await tieline('backup', join(home, 'archive/backup'), '--home', home)
  t.match(inside, { code: 1, stderr: /lies in .*archive, which is backed up; name a folder out/ })
  const within = await tieline('restore', backup, '--home', join(backup, 'restored'))
  t.match(within, { code: 1, stderr: /restored lies in the backup .*; name another --home/ })
  t.notOk(existsSync(join(backup, 'restored')))
  const { child } = await startUntil('Ctrl-C', 'up', '--home', home)
  const drill = ['restore', backup, '--home', join(folder, 'drill')]
  const refused = await tieline(...drill, '--erasures-of', home)
  t.match(refused, { code: 1, stderr: /is already using .*data; stop it, or/ })
  const restored = await tieline(...drill)
  t.match(restored, { code: 0, stdout: /Tieline is running on .*data; both would take the same/ })
  t.match(await tieline(...drill), { code: 1, stderr: /drill is not empty; name a new folder/ })
  t.match(await tieline('status', '--home', home), { code: 0 })
  await interrupt(child)
})
