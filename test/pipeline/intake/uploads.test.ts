import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { uploadedAs } from '../../../pipeline/intake/sender.js'
import { createUploads, type UploadOptions } from '../../../pipeline/intake/uploads.js'
import { createFolder } from '../../rig/folder.js'

const name = 'DEMO_05032024_Electric.csv'
const text = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit\nA,S,M,3/4/2024 0:00,1\n'
const hash = createHash('sha256').update(text).digest('hex')
const whole = { sender: 'ami', name, hash, bytes: text.length, from: 0 }

/** Sends pieces; the last may be a failure of the connection. */
async function* sent(...pieces: readonly (string | Error)[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece
    yield Buffer.from(piece)
  }
}

function createRig(
  t: Test,
  limits: Partial<UploadOptions['limits']> = {},
  folder: string = createFolder(t),
) {
  const claimed: string[] = []
  const replaced = new Set<string>()
  const { take, claimLeft } = createUploads({
    folder,
    naming: {
      companyCodes: ['DEMO'],
      fileNames: [{ like: `${'x'.repeat(188)}<DD><MM><YYYY>`, feed: 'Gas' }],
    },
    limits: { fileBytesMax: 1_000, freeDiskBytesMin: 0, ...limits },
    findBound: () => undefined,
    isOfOthers: async () => false,
    isReplaced: async (name) => replaced.has(name) || claimed.some((path) => path.endsWith(name)),
    senders: ['ami'],
    arrive: {
      find: async (path) => (claimed.includes(path) ? claimed.indexOf(path) + 1 : undefined),
      claimUnless: async ({ path }, isOfOthers) => {
        if (await isOfOthers()) return undefined
        t.ok(readdirSync(folder).length > 0, 'nothing is claimed that is not on the disk')
        return claimed.push(path)
      },
    },
  })
  return { take, claimLeft, folder, claimed, replaced }
}

t.test('a name, a size or an offset that cannot be is refused before a byte is read', async (t) => {
  const { take, folder } = createRig(t)
  const unread = () => {
    throw new Error('the body was read')
  }
  const long = `${'x'.repeat(188)}05032024.csv`
  const cases: readonly (readonly [object, RegExp])[] = [
    [{ name: '../DEMO_05032024_Electric.csv' }, /"\.\.\/DEMO_05032024_Electric\.csv" is not </],
    [{ name: '..%2fDEMO_05032024_Electric.csv' }, /is not <CompanyCode>/],
    [{ name: '.part' }, /is not <CompanyCode>/],
    [{ name: '' }, /"" is not <CompanyCode>/],
    [{ name: `DEMO_05032024_Electric_${'1'.repeat(300)}.csv` }, /longer than 255 bytes/],
    [{ name: 'DEMO_31022024_Electric.csv' }, /31022024 is not a calendar day/],
    [{ name: long }, /its name has 200 bytes, the limit is 150; shorten it/],
    [{ name: 'DEMO_05032024_Water.csv' }, /its feed is not one of Electric/],
    [{ name: 'ACME_05032024_Gas.csv' }, /ACME is not in companyCodes \(DEMO\)/],
    [{ bytes: 1_001 }, /1001 bytes, limits\.fileBytesMax is 1000; split the file/],
    [{ from: text.length + 1 }, /it has 79 bytes and cannot resume from 80/],
  ]
  for (const [more, detail] of cases) {
    const taken = await take({ ...whole, ...more }, { [Symbol.asyncIterator]: unread })
    t.match(taken, { kind: 'wrong', detail }, String(detail))
  }
  t.same(readdirSync(folder), [])
})

t.test('bytes that are others, too many, or of another hash leave nothing behind', async (t) => {
  const { take, folder, claimed } = createRig(t)
  const detail = /do not match Repr-Digest; send the complete file again/
  for (const bytes of [text.replace('1\n', '2\n'), `${text}x`, `${text}${text}`]) {
    t.match(await take(whole, sent(bytes)), { kind: 'wrong', detail })
  }
  t.match(await take(whole, sent(text, 'x')), { kind: 'wrong', detail }, 'in two pieces too')
  t.same(readdirSync(folder), [])
  t.same(claimed, [])
})

t.test('more bytes than announced are refused, even if all of them have the hash', async (t) => {
  const { take, folder, claimed } = createRig(t)
  const pieces = [text.slice(0, 60), text.slice(60)]
  for (const [bytes, ...all] of [[1, text] as const, [60, ...pieces] as const]) {
    const taken = await take({ ...whole, bytes }, sent(...all))
    t.match(taken, { kind: 'wrong', detail: `more than the ${bytes} bytes that were announced` })
  }
  t.same(claimed, [])
  t.same(readdirSync(folder), [])
})

t.test('what comes short is kept, and gone on with from its end only', async (t) => {
  const { take, folder, claimed } = createRig(t)
  const part = (bytes: number) => ({ kind: 'part', bytes })
  t.same(await take(whole, sent(text.slice(0, 30))), part(30))
  t.same(await take({ ...whole, from: undefined }, sent('x')), part(30), 'asking adds nothing')
  t.same(await take({ ...whole, from: 29 }, sent(text.slice(29))), part(30))
  t.same(await take({ ...whole, from: 31 }, sent(text.slice(31))), part(30))
  await t.rejects(take({ ...whole, from: 30 }, sent(text.slice(30, 40), new Error('cut'))))
  t.same(await take({ ...whole, from: undefined }, sent()), part(40))
  t.same(await take({ ...whole, from: 40 }, sent(text.slice(40))), { kind: 'arrived', arrival: 1 })
  t.same(readdirSync(folder), [uploadedAs(whole)])
  t.equal(readFileSync(join(folder, uploadedAs(whole)), 'utf8'), text)
  t.same(await take(whole, sent('anything')), { kind: 'arrived', arrival: 1 }, 'it is here')
  t.equal(claimed.length, 1)
})

t.test('the same bytes under a longer name are not a part', async (t) => {
  const { take, folder, claimed } = createRig(t)
  const packed = { ...whole, name: `${name}.gz` }
  t.match(await take(packed, sent(text)), { kind: 'arrived', arrival: 1 })
  const asked = { ...whole, from: undefined }
  t.same(await take(asked, sent()), { kind: 'part', bytes: 0 })
  t.match(await take({ ...whole, from: text.length }, sent()), { kind: 'part', bytes: 0 })
  t.match(await take(whole, sent(text)), { kind: 'arrived', arrival: 2 })
  t.same(
    readdirSync(folder).map((found) => join(folder, found)),
    [...claimed].reverse(),
  )
})

t.test('two that send the same file at once do not write into each other', async (t) => {
  const { take } = createRig(t)
  const answers = await Promise.all([take(whole, sent(text)), take(whole, sent(text))])
  t.same(answers.map(({ kind }) => kind).sort(), ['arrived', 'part'])
})

t.test('two processes that take the same file at once do not write into each other', async (t) => {
  const { take, folder } = createRig(t)
  const other = createRig(t, {}, folder)
  let goOn: () => void = () => undefined
  const middle = new Promise<void>((resolve) => {
    goOn = resolve
  })
  async function* slowly() {
    yield Buffer.from(text.slice(0, 40))
    await middle
    yield Buffer.from(text.slice(40))
  }
  const first = take(whole, slowly())
  while (readdirSync(folder).length === 0) await sleep(1)
  t.match(await other.take(whole, sent(text.slice(0, 20))), { kind: 'part' })
  goOn()
  t.match(await first, { kind: 'arrived' })
  t.equal(readFileSync(join(folder, uploadedAs(whole)), 'utf8'), text)
})

t.test('with less free disk than the limit nothing is taken', async (t) => {
  const { take, folder } = createRig(t, { freeDiskBytesMin: Number.MAX_SAFE_INTEGER })
  const detail =
    /DEMO_05032024_Electric\.csv has 79 and limits\.freeDiskBytesMin is 9007199254740991/
  await t.rejects(take(whole, sent(text)), { code: 'DISK_FULL', detail })
  t.same(readdirSync(folder), [])
})

t.test(
  'of two complete uploads of a name that nobody has claimed the later one is claimed',
  async (t) => {
    for (const later of ['0', 'f']) {
      const { claimLeft, folder, claimed } = createRig(t)
      const pathOf = (digit: string) =>
        join(folder, uploadedAs({ ...whole, hash: digit.repeat(64) }))
      for (const digit of ['0', 'f']) {
        writeFileSync(pathOf(digit), text)
        const seconds = digit === later ? 2_000 : 1_000
        utimesSync(pathOf(digit), seconds, seconds)
      }
      await claimLeft()
      t.same(claimed, [pathOf(later)])
    }
  },
)

t.test('a complete upload that a dead process has not claimed is claimed', async (t) => {
  const { claimLeft, folder, claimed, replaced } = createRig(t)
  const [left, old, unknown] = [
    whole,
    { ...whole, name: 'DEMO_06032024_Electric.csv' },
    { ...whole, sender: 'gone' },
  ].map((upload) => join(folder, uploadedAs(upload))) as [string, string, string]
  const part = `${left}.gz.0123abcd.part`
  const other = join(folder, 'of-nobody.csv')
  for (const path of [left, old, unknown, part, other]) writeFileSync(path, text)
  replaced.add('DEMO_06032024_Electric.csv')
  await claimLeft()
  await claimLeft()
  t.same(claimed, [left], 'once, unless its sender is gone or has sent the file again since')
  const there = readdirSync(folder).map((found) => join(folder, found))
  for (const path of [left, part, other]) t.ok(there.includes(path), 'it stays')
  t.equal(there.filter((found) => found.startsWith(old) && found.endsWith('.part')).length, 1)
  t.equal(there.filter((found) => found.startsWith(unknown) && found.endsWith('.part')).length, 1)
  t.notOk(there.includes(old) || there.includes(unknown), 'they are parts, which retention removes')
})
