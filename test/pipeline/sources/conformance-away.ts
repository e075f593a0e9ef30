import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Arrival } from '../../../pipeline/ledger/ledger.js'
import { copyOf } from '../../../pipeline/sources/remote.js'
import { bytesOf, createRig, type Prepared, readAll } from './conformance.js'
import type { Between } from './servers/proxy.js'

export interface Away extends Prepared {
  readonly proxy: Pick<Between, 'passed' | 'cutAfter' | 'holdAfter' | 'pass' | 'down'>
}

const bigBytes = 12_000_000
const cutBytes = 5_000_000
/** What a protocol may send in addition to the bytes of the file. */
const talkBytesMax = 200_000

/** What is promised in addition of a source on another machine, whose connection may fail. */
export function conformAway(t: Test, prepare: (t: Test) => Promise<Away>): void {
  const createAway = async (t: Test) => {
    const rig = await createRig(t, prepare)
    return { ...rig, fetch: async (arrival: Arrival) => rig.source.fetch?.(arrival) }
  }
  const bytes = bytesOf(bigBytes)

  t.test('a fetch that is cut off goes on where it was', async (t) => {
    const { source, put, arrive, proxy, landing, fetch } = await createAway(t)
    await put('big.csv', bytes)
    const arrival = await arrive('big.csv')
    proxy.holdAfter(cutBytes)
    const ended = t.rejects(fetch(arrival), { code: 'SOURCE_UNREACHABLE' })
    await Promise.race([ended, hasCome(landing)])
    proxy.down()
    await ended
    const parts = readdirSync(landing)
    t.equal(parts.length, 1, parts.join())
    const [, had] =
      /^1\.file(?:\.[0-9a-f]{16}){2}\.([1-9]\d*)\.\w{8}\.part$/.exec(`${parts[0]}`) ?? []
    t.ok(had, 'its name says how far it came')
    proxy.pass()
    await fetch(arrival)
    t.ok(proxy.passed() < bigBytes - Number(had) + talkBytesMax, `${proxy.passed()} came again`)
    t.same(readdirSync(landing), [basename(copyOf(landing, arrival))])
    t.ok((await readAll(source, arrival)).equals(bytes))
  })

  t.test('a part of an earlier state of the file is not gone on with', async (t) => {
    const { source, put, arrive, proxy, landing, fetch } = await createAway(t)
    await put('big.csv', bytes)
    const first = await arrive('big.csv')
    proxy.cutAfter(cutBytes)
    await t.rejects(fetch(first), { code: 'SOURCE_UNREACHABLE' })
    proxy.pass()
    const other = Buffer.alloc(bigBytes - 1, 'x')
    await put('big.csv', other)
    const second = { ...(await arrive('big.csv')), arrival: first.arrival }
    await fetch(second)
    t.ok((await readAll(source, second)).equals(other))
    t.ok(readdirSync(landing).includes(basename(copyOf(landing, second))))
  })

  t.test('a copy of another file that had the number once is not taken for it', async (t) => {
    const { source, put, arrive, fetch } = await createAway(t)
    await put('a.csv', 'bytes')
    const before = await arrive('a.csv')
    await fetch(before)
    await put('b.csv', 'other bytes')
    const after = { ...(await arrive('b.csv')), arrival: before.arrival }
    t.equal(String(await readAll(source, after)), 'other bytes')
  })

  t.test('a file that changes while it is fetched leaves nothing behind', async (t) => {
    const { put, arrive, landing, fetch } = await createAway(t)
    await put('big.csv', bytes)
    const arrival = await arrive('big.csv')
    await put('big.csv', bytes.subarray(1))
    await t.rejects(fetch(arrival), { code: 'SOURCE_CHANGED' })
    t.same(readdirSync(landing), [])
  })

  t.test('a second fetch beside the first takes nothing from under it', async (t) => {
    const { put, arrive, landing, fetch } = await createAway(t)
    await put('big.csv', bytes)
    const arrival = await arrive('big.csv')
    let wholes = 0
    const look = async () => {
      await fetch(arrival)
      if (readFileSync(copyOf(landing, arrival)).equals(bytes)) wholes++
    }
    const first = look()
    await hasCome(landing)
    await Promise.all([first, look()])
    t.equal(wholes, 2)
  })

  t.test('a file that would leave too little free disk is not copied here', async (t) => {
    const rig = await createRig(t, prepare, { freeDiskBytesMin: Number.MAX_SAFE_INTEGER })
    await rig.put('a.csv', 'bytes')
    const arrival = await rig.arrive('a.csv')
    const outcome = 'quarantined' as const
    const settlement = { outcome, receipt: '{}', rejectsPath: undefined }
    await t.rejects(rig.source.settle(arrival, settlement), {
      code: 'DISK_FULL',
      detail: /a\.csv has 5/,
    })
    t.same(await rig.names(), ['a.csv'])
    t.same(readdirSync(rig.quarantine), [])
  })

  t.test('a file that another machine has read is kept by the one that settles it', async (t) => {
    const rig = await createRig(t, prepare, { ended: 'mark' })
    await rig.put('a.csv', 'bytes')
    await rig.put('b.csv', 'bytes')
    const settlement = { receipt: '{}', rejectsPath: undefined }
    await rig.source.settle(await rig.arrive('a.csv'), { ...settlement, outcome: 'published' })
    t.same(readdirSync(rig.archive), ['1-a.csv'])
    await rig.source.settle(await rig.arrive('b.csv'), { ...settlement, outcome: 'quarantined' })
    t.notOk(readdirSync(rig.quarantine).includes('2-b.csv'), 'what was refused unread stays there')
  })

  t.test('a server that falls silent in the middle is given up', async (t) => {
    const { put, arrive, proxy, fetch, source } = await createAway(t)
    await put('big.csv', bytes)
    const arrival = await arrive('big.csv')
    proxy.holdAfter(cutBytes)
    await t.rejects(fetch(arrival), { code: 'SOURCE_UNREACHABLE' })
    proxy.holdAfter(0)
    await t.rejects(source.list(), { code: 'SOURCE_UNREACHABLE' })
    proxy.pass()
    await fetch(arrival)
    t.ok((await readAll(source, arrival)).equals(bytes))
  })

  t.test('a server that is away is unreachable, and found again when it is back', async (t) => {
    const { source, put, proxy } = await createAway(t)
    await put('a.csv', 'a')
    t.equal((await source.list()).length, 1)
    proxy.down()
    await t.rejects(source.list(), { code: 'SOURCE_UNREACHABLE' })
    await t.rejects(source.list(), { code: 'SOURCE_UNREACHABLE' })
    proxy.pass()
    t.equal((await source.list()).length, 1)
  })
}

/** Resolves when some of a file is on disk: what a proxy has passed on may be lost on its way. */
async function hasCome(landing: string): Promise<void> {
  while (!readdirSync(landing).some((name) => sizeOf(join(landing, name)) > 0)) await sleep(1)
}

/** Bytes of a file that may be gone a moment later. */
function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}
