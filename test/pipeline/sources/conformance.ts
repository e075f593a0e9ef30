import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Arrival } from '../../../pipeline/ledger/ledger.js'
import { trialName } from '../../../pipeline/sources/disk.js'
import { createSource } from '../../../pipeline/sources/drivers.js'
import type { Listed, Settlement, Source } from '../../../pipeline/sources/source.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import type { SourceSettings } from '../../../schemas/settings/source.js'
import { createFolder } from '../../rig/folder.js'

/** The place of a real source, as its senders see it. */
export interface Prepared {
  readonly settings: SourceSettings
  readonly secret: (reference: object) => string
  put(name: string, content: string | Buffer): Promise<void>
  /** Names of the files in the source's folder, or in the one below it. */
  names(folder?: string): Promise<readonly string[]>
  text(name: string): Promise<string>
  remove(name: string): Promise<void>
}

export type Rig<P extends Prepared> = P & {
  readonly source: Source
  readonly landing: string
  readonly archive: string
  readonly quarantine: string
  /** The file of that name as it is listed now, arrived under the next number. */
  arrive(name: string): Promise<Arrival>
}

const naming = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  fileNames: [{ like: '<Feed> of <YYYY>-<MM>-<DD>' }],
})

type AfterLoadOptions = Partial<Pick<SourceSettings, 'ended' | 'receipts'>>

/** A driver on its place, with folders of its own on this machine. */
export async function createRig<P extends Prepared>(
  t: Test,
  prepare: (t: Test) => Promise<P>,
  {
    freeDiskBytesMin = 0,
    ...ending
  }: AfterLoadOptions & { readonly freeDiskBytesMin?: number } = {},
): Promise<Rig<P>> {
  const prepared = await prepare(t)
  const [landing, archive, quarantine] = [createFolder(t), createFolder(t), createFolder(t)]
  const settings = { ...prepared.settings, ...ending }
  const { secret } = prepared
  const folders = { landing, archive, quarantine }
  const source = createSource(settings, { ...folders, freeDiskBytesMin, naming, secret })
  t.teardown(() => source.close())
  let arrivals = 0
  return {
    ...prepared,
    source,
    landing,
    archive,
    quarantine,
    arrive: async (name) => {
      const found = (await source.list()).find((one) => one.name === name)
      if (found === undefined) throw new Error(`${name} is not listed`)
      return toArrival(found, ++arrivals)
    },
  }
}

function toArrival({ hasDoneFile: _, ...entry }: Listed, arrival: number): Arrival {
  return { ...entry, force: false, arrival, arrivedAt: new Date() }
}

/** A file that is nowhere alike, made in a moment. */
export function bytesOf(length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length)
  for (let at = 0; at < length; at++) bytes[at] = (at * 31) >> 5
  return bytes
}

/** Thousands of names as one value, which is compared at once. */
export function textOf(names: readonly string[]): string {
  return names.toSorted().join('\n')
}

export async function readAll(source: Source, arrival: Arrival): Promise<Buffer> {
  await source.fetch?.(arrival)
  const pieces: Buffer[] = []
  for await (const piece of source.read(arrival)) pieces.push(Buffer.from(piece))
  return Buffer.concat(pieces)
}

const good: Settlement = { outcome: 'published', receipt: '{"a":1}\n', rejectsPath: undefined }
const bad: Settlement = { ...good, outcome: 'quarantined' }

/** Names that a sender may use and that no shell, path or listing may trip over. */
const hostile = [
  'a b  c.csv',
  "it's.csv",
  '$(touch x).csv',
  '-rf.csv',
  'Zähler_März.csv',
  '%2e%2e%2fpasswd.csv',
  '"quoted".csv',
  `${'x'.repeat(200)}.csv`,
] as const

/** What every driver of the port promises, whatever is behind it. */
export function conform(t: Test, prepare: (t: Test) => Promise<Prepared>): void {
  t.test('finished files are listed with size and time; others are left out', async (t) => {
    const { source, put } = await createRig(t, prepare)
    await put('b.csv', 'bb')
    await put('a.csv', 'a')
    await put('a.csv.done', '')
    const others = [
      'c.csv.part',
      'd.tmp',
      'e.filepart',
      '.hidden',
      'f.receipt.json',
      'g.rejects.csv',
    ]
    for (const name of [...others, 'h.ended']) await put(name, 'x')
    const listed = [...(await source.list())].sort((a, b) => (a.name < b.name ? -1 : 1))
    t.match(listed, [
      { source: source.name, name: 'a.csv', bytes: 1, hasDoneFile: true },
      { source: source.name, name: 'b.csv', bytes: 2, hasDoneFile: false },
    ])
    t.equal(listed.length, 2)
    for (const { modifiedMs } of listed) t.ok(Math.abs(Date.now() - modifiedMs) < 120_000)
    t.same(await source.list(), await source.list(), 'and alike each time')
  })

  t.test('a trial of writing leaves nothing and is never taken', async (t) => {
    const { source, put, names } = await createRig(t, prepare)
    await put('a.csv', 'a')
    await source.tryWriting?.()
    await source.tryWriting?.()
    t.same(await names(), ['a.csv'])
    await put(trialName, 'of a doctor that was killed')
    t.match(await source.list(), [{ name: 'a.csv' }])
    await source.tryWriting?.()
    t.same(await names(), ['a.csv'], 'the next one removes it')
  })

  t.test('the bytes are those of the file, an empty one too', async (t) => {
    const { source, put, arrive } = await createRig(t, prepare)
    const bytes = bytesOf(3_000_000)
    await put('big.csv', bytes)
    await put('empty.csv', '')
    t.ok((await readAll(source, await arrive('big.csv'))).equals(bytes))
    t.equal((await readAll(source, await arrive('empty.csv'))).length, 0)
  })

  t.test('a file that went or changed after it was listed is not read', async (t) => {
    const { source, put, remove, arrive } = await createRig(t, prepare)
    await put('gone.csv', 'one')
    await put('other.csv', 'one')
    const [gone, other] = [await arrive('gone.csv'), await arrive('other.csv')]
    await remove('gone.csv')
    await put('other.csv', 'one and more')
    await t.rejects(readAll(source, gone), { code: 'SOURCE_CHANGED', detail: /gone\.csv is gone/ })
    await t.rejects(readAll(source, other), { code: 'SOURCE_CHANGED', detail: /3 bytes.*12 now/ })
  })

  t.test('take: the file is in the archive and gone from the source', async (t) => {
    const rig = await createRig(t, prepare)
    await rig.put('a.csv', 'bytes')
    await rig.put('a.csv.done', '')
    const arrival = await rig.arrive('a.csv')
    await readAll(rig.source, arrival)
    t.notOk(rig.source.keeps)
    for (const _ of ['once', 'again']) {
      await rig.source.settle(arrival, good)
      t.same(readdirSync(rig.archive), ['1-a.csv'])
      t.equal(readFileSync(join(rig.archive, '1-a.csv'), 'utf8'), 'bytes')
      t.notOk((await rig.names()).some((name) => name === 'a.csv' || name === 'a.csv.done'))
      t.same(readdirSync(rig.landing), [])
    }
  })

  t.test('a done-file shows that a set is complete, and goes with its files', async (t) => {
    const rig = await createRig(t, prepare)
    const names = ['RateCodes of 2026-01-02.csv', 'DEMO_02012026_RateFlat.csv']
    const done = ['DEMO_02012026_Rates.done', 'Rates of 2026-01-02.done']
    for (const name of names) await rig.put(name, 'bytes')
    const arrivals: Arrival[] = []
    for (const name of names) arrivals.push(await rig.arrive(name))
    t.match(await rig.source.list(), [{ hasSetDoneFile: false }, { hasSetDoneFile: false }])
    for (const name of done) await rig.put(name, '')
    t.match(await rig.source.list(), [
      { hasDoneFile: true, hasSetDoneFile: true },
      { hasDoneFile: true, hasSetDoneFile: true },
    ])
    for (const arrival of arrivals) {
      await readAll(rig.source, arrival)
      await rig.source.settle(arrival, good)
    }
    t.notOk((await rig.names()).some((name) => name.endsWith('.done')))
  })

  t.test('a file that was never read is kept all the same before it is taken away', async (t) => {
    const rig = await createRig(t, prepare)
    await rig.put('no-feed.txt', 'bytes')
    await rig.source.settle(await rig.arrive('no-feed.txt'), bad)
    t.same(readdirSync(rig.quarantine).sort(), ['1-no-feed.txt', '1-no-feed.txt.receipt.json'])
    t.equal(readFileSync(join(rig.quarantine, '1-no-feed.txt'), 'utf8'), 'bytes')
    t.notOk((await rig.names()).includes('no-feed.txt'))
  })

  t.test('rename: it goes to a folder of the source', async (t) => {
    const rig = await createRig(t, prepare, { ended: 'rename' })
    await rig.put('a.csv', 'bytes')
    const arrival = await rig.arrive('a.csv')
    await readAll(rig.source, arrival)
    for (const _ of ['once', 'again']) await rig.source.settle(arrival, good)
    t.notOk((await rig.names()).includes('a.csv'))
    t.same(await rig.names('ended'), ['1-a.csv'])
    t.same(readdirSync(rig.archive), ['1-a.csv'], 'and to the archive')
  })

  t.test('mark and leave: it stays, with a mark or without', async (t) => {
    for (const ended of ['mark', 'leave'] as const) {
      const rig = await createRig(t, prepare, { ended, receipts: false })
      t.ok(rig.source.keeps)
      await rig.put('a.csv', 'bytes')
      const arrival = await rig.arrive('a.csv')
      await readAll(rig.source, arrival)
      for (const _ of ['once', 'again']) await rig.source.settle(arrival, good)
      const names = [...(await rig.names())].sort()
      t.same(names, ended === 'mark' ? ['a.csv', 'a.csv.ended'] : ['a.csv'])
      if (ended === 'mark') t.equal(await rig.text('a.csv.ended'), 'published\n')
      t.same(readdirSync(rig.archive), ['1-a.csv'])
    }
  })

  t.test('receipt and rejects go back beside the file', async (t) => {
    const rig = await createRig(t, prepare, { ended: 'leave', receipts: true })
    await rig.put('a.csv', 'bytes')
    const arrival = await rig.arrive('a.csv')
    const rejectsPath = join(createFolder(t), 'rejects')
    writeFileSync(rejectsPath, 'Line,Column\n')
    await rig.source.settle(arrival, { ...good, rejectsPath })
    t.equal(await rig.text('a.csv.receipt.json'), good.receipt)
    t.equal(await rig.text('a.csv.rejects.csv'), 'Line,Column\n')
    await rig.source.settle(arrival, { ...good, outcome: 'duplicate' })
    t.equal(
      await rig.text('a.csv.rejects.csv'),
      'Line,Column\n',
      'of a repetition those of the first',
    )
    await rig.source.settle(arrival, good)
    t.same([...(await rig.names())].sort(), ['a.csv', 'a.csv.receipt.json'], 'none, none')
    t.equal((await rig.source.list()).length, 1, 'and they are not taken for files')
  })

  t.test('a file that was replaced before it was settled is left alone', async (t) => {
    const rig = await createRig(t, prepare)
    await rig.put('a.csv', 'bytes')
    const arrival = await rig.arrive('a.csv')
    await readAll(rig.source, arrival)
    await rig.put('a.csv', 'other bytes')
    await rig.source.settle(arrival, good)
    t.equal(await rig.text('a.csv'), 'other bytes')
  })

  t.test('no name leads anywhere', async (t) => {
    const rig = await createRig(t, prepare)
    for (const name of hostile) await rig.put(name, name)
    for (const [index, name] of hostile.entries()) {
      const arrival = await rig.arrive(name)
      t.equal((await readAll(rig.source, arrival)).toString(), name)
      await rig.source.settle(arrival, bad)
      t.equal(readdirSync(rig.quarantine).length, 2 * (index + 1), name)
    }
    t.ok(readdirSync(rig.quarantine).every((name) => /^\d+-[A-Za-z0-9._-]+$/.test(name)))
    t.same((await rig.source.list()).length, 0)
  })
}
