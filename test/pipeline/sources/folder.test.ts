import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { basename, join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createFolder as createSource } from '../../../pipeline/sources/folder.js'
import { createFolder } from '../../rig/folder.js'
import { createSmallDisk } from '../../rig/small-disk.js'
import { storyProfile } from '../../story/rig/stack.js'
import { conform } from './conformance.js'
import { placeAt } from './folder-place.js'
import { parseSource } from './settings.js'

conform(t, async (t) => {
  const path = createFolder(t)
  return {
    settings: parseSource({ kind: 'folder', name: 'inbox', path }),
    secret: () => '',
    ...placeAt(path),
  }
})

t.test('the receipt beside a quarantined file is written when it can be, and whole', async (t) => {
  const folder = createFolder(t)
  const at = (name: string) => join(folder, name)
  mkdirSync(at('inbox'))
  const [archive, quarantine, path] = [at('archive'), at('quarantine'), at('inbox/a.csv')]
  const settings = parseSource({ kind: 'folder', name: 'inbox', path: at('inbox') })
  const source = createSource({ settings, archive, quarantine, naming: storyProfile() })
  writeFileSync(path, 'bytes')
  const { size: bytes, mtimeMs } = statSync(path)
  const entry = { source: 'inbox', name: 'a.csv', path, bytes, force: false }
  const modifiedMs = Math.trunc(mtimeMs)
  const arrival = { ...entry, modifiedMs, arrival: 7, arrivedAt: new Date() }
  const settlement = { outcome: 'quarantined', receipt: '{}', rejectsPath: undefined } as const
  const receipt = at('quarantine/7-a.csv.receipt.json')
  mkdirSync(receipt, { recursive: true })
  await t.rejects(source.settle(arrival, settlement), { name: 'Fault', retry: true })
  rmdirSync(receipt)
  await source.settle(arrival, settlement)
  t.equal(readFileSync(receipt, 'utf8'), '{}')
  t.equal(readFileSync(at('quarantine/7-a.csv'), 'utf8'), 'bytes')
})

interface HandedBack extends Record<string, unknown> {
  readonly bytes?: number
}

/** A folder source that hands receipts back, with a file in it and what became of that. */
function createHandedBack(t: Test, name: string, { bytes: length = 5, ...more }: HandedBack = {}) {
  const folder = createFolder(t)
  const at = (...names: string[]) => join(folder, ...names)
  mkdirSync(at('inbox'))
  const path = at('inbox', name)
  writeFileSync(path, 'bytes')
  truncateSync(path, length)
  const { size: bytes, mtimeMs } = statSync(path)
  const times = { modifiedMs: Math.trunc(mtimeMs), arrivedAt: new Date() }
  const arrival = { source: 'inbox', name, path, bytes, force: false, arrival: 7, ...times }
  const settings = parseSource({ kind: 'folder', name: 'inbox', path: at('inbox'), ...more })
  const away = { archive: at('archive'), quarantine: at('quarantine'), naming: storyProfile() }
  writeFileSync(at('rejects'), 'a rejected row')
  const outcome = 'published' as const
  const settlement = { outcome, receipt: '{}', rejectsPath: at('rejects') }
  const source = createSource({ settings, ...away })
  return { at, path, settle: () => source.settle(arrival, settlement) }
}

t.test('what is handed back is not written where a link of the sender leads', async (t) => {
  const { at, settle } = createHandedBack(t, 'a.csv', { receipts: true, ended: 'mark' })
  const actions = ['receipt.json', 'rejects.csv', 'ended']
  for (const ending of actions) {
    writeFileSync(at(ending), "another's")
    symlinkSync(at(ending), at('inbox', `a.csv.${ending}.part`))
  }
  await settle()
  for (const ending of actions) {
    t.equal(readFileSync(at(ending), 'utf8'), "another's", ending)
    t.ok(lstatSync(at('inbox', `a.csv.${ending}`)).isFile(), ending)
  }
})

const copiedBytes = 200_000_000

for (const ended of ['take', 'rename']) {
  t.test(`${ended}: a file replaced while it is copied to another disk stays there`, async (t) => {
    const { at, path, settle } = createHandedBack(t, 'a.csv', { ended, bytes: copiedBytes })
    const { path: other } = createSmallDisk(t, 400)
    symlinkSync(other, at(ended === 'take' ? 'archive' : 'inbox/ended'))
    writeFileSync(at('corrected'), 'corrected')
    const settled = settle()
    while (readdirSync(other).length === 0) await turn()
    renameSync(at('corrected'), path)
    await settled
    t.equal(readFileSync(path, 'utf8'), 'corrected')
    t.equal(statSync(join(other, '7-a.csv')).size, copiedBytes)
  })

  t.test(`${ended}: a file that was copied to another disk is gone from its folder`, async (t) => {
    const { at, settle } = createHandedBack(t, 'a.csv', { ended })
    const { path: other } = createSmallDisk(t, 1)
    symlinkSync(other, at(ended === 'take' ? 'archive' : 'inbox/ended'))
    await settle()
    t.notOk(readdirSync(at('inbox')).includes('a.csv'))
    t.same(readdirSync(other), ['7-a.csv'])
  })
}

t.test('a name that leaves no room for a mark is ended without one', async (t) => {
  const { at, path, settle } = createHandedBack(t, `${'x'.repeat(251)}.csv`, { ended: 'mark' })
  await settle()
  t.same(readdirSync(at('inbox')), [basename(path)])
  t.equal(readdirSync(at('archive')).length, 1)
})

const elsewhere = (path: string) => ({ archive: path, quarantine: path })

t.test('links, folders and special files are mentioned, not loaded', async (t) => {
  const path = createFolder(t)
  const settings = parseSource({ kind: 'folder', name: 'inbox', path, ended: 'mark' })
  const naming = storyProfile()
  const source = createSource({ settings, archive: path, quarantine: path, naming })
  for (const name of ['a.csv', 'b.csv.part', '.hidden']) writeFileSync(join(path, name), 'x')
  for (const name of ['2025', settings.endedFolder, '.git']) mkdirSync(join(path, name))
  symlinkSync('/etc/passwd', join(path, 'link\n.csv'))
  symlinkSync('/nowhere', join(path, 'dangling.csv'))
  execFileSync('mkfifo', [join(path, 'pipe.csv')])
  const listed = await source.list()
  t.same(
    listed.map(({ name }) => name),
    ['a.csv'],
  )
  const named = 'folder 2025, link dangling.csv, link link?.csv, special file pipe.csv'
  t.match(source.others?.(), new RegExp(`: ${named.replace('?', '\\?')};`))
  for (let at = 0; at < 30; at++) mkdirSync(join(path, `folder ${at}`))
  await source.list()
  t.match(source.others?.(), / and 14 more;/)
})

t.test('a folder that may be listed and not entered is not taken for an empty one', async (t) => {
  const path = createFolder(t)
  const settings = parseSource({ kind: 'folder', name: 'inbox', path })
  const source = createSource({ settings, ...elsewhere(path), naming: storyProfile() })
  writeFileSync(join(path, 'a.csv'), 'x')
  chmodSync(path, 0o644)
  const nobody = 65_534
  const isRoot = process.getuid?.() === 0
  if (isRoot) process.seteuid?.(nobody)
  try {
    await t.rejects(source.list(), { code: 'PERMISSION', detail: `${path}: access denied` })
  } finally {
    if (isRoot) process.seteuid?.(0)
    chmodSync(path, 0o700)
  }
  t.match(await source.list(), [{ name: 'a.csv' }])
})

t.test('a name that is not UTF-8 is mentioned, not loaded', async (t) => {
  const path = createFolder(t)
  const settings = parseSource({ kind: 'folder', name: 'inbox', path })
  const source = createSource({ settings, ...elsewhere(path), naming: storyProfile() })
  writeFileSync(Buffer.concat([Buffer.from(`${path}/caf`), Buffer.from([0xe9])]), 'x')
  t.same(await source.list(), [])
  t.match(source.others?.(), /: unusable name caf\?;/)
})

t.test('what takes the place of a file just before it is opened is not read', async (t) => {
  const folder = createFolder(t)
  const [path, secret] = [join(folder, 'a.csv'), join(folder, 'secret')]
  const settings = parseSource({ kind: 'folder', name: 'inbox', path: folder })
  const places = { archive: folder, quarantine: folder }
  const source = createSource({ settings, ...places, naming: storyProfile() })
  writeFileSync(secret, 'other')
  const swaps: Readonly<Record<string, () => void>> = {
    link: () => symlinkSync(secret, join(folder, 'swap')),
    file: () => copyFileSync(secret, join(folder, 'swap')),
    pipe: () => execFileSync('mkfifo', [join(folder, 'swap')]),
  }
  const { open } = files
  t.teardown(() => patchOpen(open))
  for (const [what, swap] of Object.entries(swaps)) {
    rmSync(path, { force: true })
    writeFileSync(path, 'bytes')
    utimesSync(path, 1, 1)
    const entry = { source: 'inbox', name: 'a.csv', path, bytes: 5, force: false }
    const arrival = { ...entry, modifiedMs: 1_000, arrival: 7, arrivedAt: new Date() }
    patchOpen(async (...opened) => {
      swap()
      renameSync(join(folder, 'swap'), path)
      return open(...opened)
    })
    const read = buffer(source.read(arrival))
    await t.rejects(read, { code: /^SOURCE_(CHANGED|UNREACHABLE)$/ }, what)
    patchOpen(open)
  }
})

function patchOpen(open: typeof files.open): void {
  files.open = open
  syncBuiltinESMExports()
}
