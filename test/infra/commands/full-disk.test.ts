import { spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { writeOut } from '../../../infra/commands/output/out-file.js'
import { createFolder } from '../../rig/folder.js'
import { createSmallDisk } from '../../rig/small-disk.js'
import { entry } from '../../schemas/rating/database/entries.js'
import { header } from '../../story/rig/stack.js'
import { program, tieline } from '../command-line.js'

const folder = createFolder(t)

t.test('a sample that fills its disk is removed from it, and the message names it', async (t) => {
  const disk = createSmallDisk(t, 1)
  const path = join(disk.path, 'sample')
  const full = await tieline('sample', path)
  t.match(full, { code: 1, stdout: '', stderr: /^tieline: CONFIG: .*sample .*: no space left; / })
  t.same(readdirSync(path), [])
})

t.test('rate files that fill their disk are removed from it, and no other file is', async (t) => {
  const disk = createSmallDisk(t, 1)
  const json = join(folder, 'rates.json')
  writeFileSync(json, JSON.stringify(entry({ fixedmonthlycharge: 10 })))
  const out = join(disk.path, 'out')
  mkdirSync(out)
  writeFileSync(join(out, 'theirs'), '')
  disk.fill()
  const full = await tieline('rates', 'import', json, '--company', 'DEMO', '--out', out)
  t.match(full, { code: 1, stdout: '', stderr: /^tieline: CONFIG: .*out .*: no space left; / })
  t.same(readdirSync(out), ['theirs'])
})

t.test('a report or feed that fills its disk leaves the older file as it is', async (t) => {
  const disk = createSmallDisk(t, 1)
  const out = join(disk.path, 'report.html')
  await writeOut(out, ['older'])
  const pieces = Array.from({ length: 20 }, () => 'x'.repeat(100_000))
  const reason = { code: 'CONFIG', message: /report.html cannot be written: no space left; name/ }
  await t.rejects(writeOut(out, pieces), reason)
  t.same(readdirSync(disk.path), ['report.html'])
})

const full = openSync('/dev/full', 'w')
t.teardown(() => closeSync(full))
const run = (args: readonly string[], stdio: Partial<Record<'stdout' | 'stderr', number>>) => {
  const streams = ['ignore', stdio.stdout ?? 'pipe', stdio.stderr ?? 'pipe'] as const
  return spawnSync(process.execPath, [program, ...args], { stdio: [...streams], encoding: 'utf8' })
}

t.test('a standard output that cannot be written is reported, with the exit code 1', (t) => {
  const message = /tieline: CONFIG: standard output cannot be written: no space left; /
  for (const args of [['ddl'], ['sample', join(folder, 'sample')]]) {
    t.match(run(args, { stdout: full }), { status: 1, stderr: message }, args[0] ?? '')
  }
  t.end()
})

t.test('a standard error that cannot be written stops nothing', (t) => {
  const file = join(folder, 'DEMO_05022026_Gas.csv')
  writeFileSync(file, `${header}\nA,S,M,2/4/2026,1\n`)
  const checked = run(['check', file, '--profile', 'none.yaml'], { stderr: full })
  t.match(checked, { status: 1, stdout: '' })
  const good = run(['check', file], { stderr: full })
  t.match(good, { status: 0, stdout: /DEMO_05022026_Gas.csv/ })
  t.end()
})
