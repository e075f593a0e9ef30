import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, renameSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { createFolder } from '../../rig/folder.js'
import { createHome, oneDay, readStopped, startTieline, tieline } from '../command-line.js'

const folder = createFolder(t)
const home = await createHome(folder)
const name = 'DEMO_02072025_Electric.csv'

/** Cuts the files of every part of `usage_read`, which has a column `series`. */
function damageParts(): void {
  const store = join(home, 'clickhouse', 'store')
  const files = readdirSync(store, { recursive: true, withFileTypes: true })
  const parts = files.filter(({ name, parentPath }) => {
    if (name !== 'columns.txt' || parentPath.includes('detached')) return false
    return readFileSync(join(parentPath, name), 'utf8').includes('`series`')
  })
  if (parts.length === 0) throw new Error('no part was found')
  for (const { parentPath } of parts) {
    for (const file of readdirSync(parentPath).filter((one) => one.endsWith('.bin'))) {
      truncateSync(join(parentPath, file), 10)
    }
  }
}

const count = () => readStopped(home, 'SELECT count(), sum(quantity) FROM usage')

t.test(
  'a part that was cut on disk is reported everywhere, and repaired from the archive',
  async (t) => {
    const path = join(folder, name)
    await usageFile(path, oneDay)
    const loaded = await tieline('load', path, '--home', home)
    t.match(loaded, { code: 0 }, loaded.stderr)
    renameSync(path, join(home, 'archive', `1-${name}`))
    const before = await count()
    t.match(before, /^960\t/)
    const clean = await tieline('verify', '--home', home)
    t.match(clean, {
      code: 0,
      stdout: /compared 960 rows of 1 files, 1 kept files[\s\S]*nothing is missing/,
    })
    damageParts()
    const found = await tieline('verify', '--home', home)
    t.equal(found.code, 1)
    t.match(
      found.stdout,
      /960 of 960 rows of DEMO_02072025_Electric\.csv \(arrival 1\) are missing from usage_read/,
    )
    t.match(found.stdout, /the engine cannot read a part and has set it aside: usage_read\//)
    t.match(await count(), /^0\t/)
    const status = await tieline('status', '--home', home)
    t.match(status.stdout, /missing or damaged\n {2}960 of 960 rows of DEMO_02072025_Electric\.csv/)

    const killed = startTieline('repair', '--home', home)
    setTimeout(() => killed.kill('SIGKILL'), 6_000)
    await once(killed, 'close')
    const repaired = await tieline('repair', '--home', home)
    t.match(repaired, { code: 0 }, repaired.stdout + repaired.stderr)
    t.equal(await count(), before)
    const after = await tieline('verify', '--home', home)
    t.match(after, { code: 0 }, after.stdout)
    t.notMatch((await tieline('status', '--home', home)).stdout, /missing or damaged/)
  },
)

t.test('a file of the archive loads under its own name', async (t) => {
  const kept = join(home, 'archive', `1-${name}`)
  t.ok(existsSync(kept))
  const again = await tieline('load', kept, '--home', home)
  t.match(again, { code: 0, stdout: new RegExp(`${name} +duplicate`) }, again.stderr)
})

t.test('what the archive does not have is named', async (t) => {
  renameSync(join(home, 'archive', `1-${name}`), join(folder, 'elsewhere.csv'))
  damageParts()
  const repaired = await tieline('repair', '--home', home)
  t.equal(repaired.code, 1)
  t.match(
    repaired.stdout,
    /do not have DEMO_02072025_Electric\.csv \(arrival 1\); restore a backup/,
  )
})
