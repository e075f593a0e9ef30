import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, renameSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'
import {
  createHome,
  interrupt,
  oneDay,
  readerOf,
  startTieline,
  startUntil,
  tieline,
} from '../command-line.js'

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

/** Several commands by one engine: those that find damage, or none, are tried beside a running stack. */
async function whileUp(t: Test, use: (count: () => Promise<string>) => Promise<void>) {
  const { child } = await startUntil('Ctrl-C', 'up', '--home', home)
  const read = readerOf(t, home)
  await use(() => read('SELECT count(), sum(quantity) FROM usage'))
  t.equal(await interrupt(child), 0)
}

/** Kills a repair that has begun, with its engine and its worker. */
async function killRepair(t: Test): Promise<void> {
  const killed = startTieline('repair', '--home', home)
  const closed = once(killed, 'close')
  await until(() => existsSync(join(home, 'run.json')))
  const read = readerOf(t, home)
  await until(async () => (await read('SELECT count() FROM arrival WHERE repairs != 0')) === '1')
  killed.kill('SIGKILL')
  const [, signal] = await closed
  t.equal(signal, 'SIGKILL')
}

t.test(
  'a part that was cut on disk is reported everywhere, and repaired from the archive',
  async (t) => {
    const path = join(folder, name)
    await usageFile(path, oneDay)
    const loaded = await tieline('load', path, '--home', home)
    t.match(loaded, { code: 0 }, loaded.stderr)
    renameSync(path, join(home, 'archive', `1-${name}`))
    let before = ''
    await whileUp(t, async (count) => {
      before = await count()
      t.match(before, /^960\t/)
      const clean = await tieline('verify', '--home', home)
      t.match(clean, {
        code: 0,
        stdout: /compared 960 rows of 1 files, 1 kept files[\s\S]*nothing is missing/,
      })
    })
    damageParts()
    await whileUp(t, async (count) => {
      const found = await tieline('verify', '--home', home)
      t.equal(found.code, 1)
      t.match(
        found.stdout,
        /960 of 960 rows of DEMO_02072025_Electric\.csv \(arrival 1\) are missing from usage_read/,
      )
      t.match(found.stdout, /the engine cannot read a part and has set it aside: usage_read\//)
      t.match(await count(), /^0\t/)
      const { stdout } = await tieline('status', '--home', home)
      t.match(stdout, /missing or damaged\n {2}960 of 960 rows of DEMO_02072025_Electric\.csv/)
    })
    await killRepair(t)
    await whileUp(t, async (count) => {
      const repaired = await tieline('repair', '--home', home)
      t.match(repaired, { code: 0 }, repaired.stdout + repaired.stderr)
      t.equal(await count(), before)
      const after = await tieline('verify', '--home', home)
      t.match(after, { code: 0 }, after.stdout)
      t.notMatch((await tieline('status', '--home', home)).stdout, /missing or damaged/)
      const again = await tieline('load', join(home, 'archive', `1-${name}`), '--home', home)
      const stdout = new RegExp(`${name} +duplicate`)
      t.match(again, { code: 0, stdout }, `under its own name: ${again.stderr}`)
    })
  },
)

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
