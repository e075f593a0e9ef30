import { pbkdf2 } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { expectWritable, writeOut } from '../../../../infra/commands/output/out-file.js'
import { createFolder } from '../../../rig/folder.js'

const folder = createFolder(t)
const deriveKey = promisify(pbkdf2)

t.test('a file replaces an older one when it is complete, for its owner only', async (t) => {
  const out = join(folder, 'one.html')
  writeFileSync(out, 'old')
  const pieces = async function* () {
    yield 'ne'
    t.equal(readFileSync(out, 'utf8'), 'old')
    yield 'w'
  }
  await writeOut(out, pieces())
  t.equal(readFileSync(out, 'utf8'), 'new')
  t.equal(statSync(out).mode & 0o777, 0o600)
})

t.test('a text that fails, or an end on the way, leaves no file', async (t) => {
  const own = join(folder, 'failing')
  mkdirSync(own)
  const broken = new Error('broken')
  const failing = async function* () {
    yield 'some'
    throw broken
  }
  // Busy threads delay the opening of the file beyond the failure of the text.
  const busy = Array.from({ length: 8 }, () => deriveKey('busy', 'threads', 100_000, 64, 'sha512'))
  await t.rejects(writeOut(join(own, 'one.html'), failing()), broken)
  await Promise.all(busy)
  t.same(await readdir(own), [])
  const ending = new AbortController()
  const ended = async function* () {
    yield 'some'
    ending.abort()
    yield 'more'
  }
  const aborted = { name: 'AbortError' }
  await t.rejects(writeOut(join(own, 'two.html'), ended(), ending.signal), aborted)
  t.same(readdirSync(own), [])
})

t.test('nothing is written through a link that lies there', async (t) => {
  const other = join(folder, 'other')
  writeFileSync(other, 'theirs')
  symlinkSync(other, join(folder, 'two.html.part'))
  const reason = { code: 'CONFIG', message: /two\.html\.part exists; remove it/ }
  await t.rejects(writeOut(join(folder, 'two.html'), ['mine']), reason)
  t.equal(readFileSync(other, 'utf8'), 'theirs')
})

t.test('what is not a file in a folder is refused at once', async (t) => {
  const cases: readonly (readonly [out: string, reason: RegExp])[] = [
    [folder, /cannot be written: it is not a file; name a file in a writable folder with --out/],
    [join(folder, 'none', 'x'), /none\/x cannot be written: its folder does not exist/],
    [join(folder, 'one.html', 'x'), /cannot be written: its folder is a file/],
  ]
  for (const [out, message] of cases) {
    await t.rejects(expectWritable(out), { code: 'CONFIG', message })
  }
  await t.resolves(expectWritable(join(folder, 'three.html')))
})
