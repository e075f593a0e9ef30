import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import type { Arrival } from '../../../pipeline/ledger/ledger.js'
import { fetchFile } from '../../../pipeline/sources/fetch-file.js'
import type { RemoteFile, RemoteFiles } from '../../../pipeline/sources/remote-files.js'
import { createSmallDisk } from '../../rig/small-disk.js'

const files = [1, 2, 3, 4].map((arrival) => ({
  arrival: { arrival, name: `${arrival}.csv`, path: `${arrival}.csv` } as Arrival,
  bytes: Buffer.alloc(10_000_000 + arrival, String(arrival)),
}))
const remoteOf = (bytes: Buffer): Pick<RemoteFiles, 'look' | 'open'> => ({
  look: async (path): Promise<RemoteFile> => {
    return { name: path, path, bytes: bytes.length, modifiedMs: 1 }
  },
  open: async function* (_, offset) {
    for (let at = offset; at < bytes.length; at += 65_536) {
      await turn()
      yield bytes.subarray(at, at + 65_536)
    }
  },
})

t.test('files that come at once onto a disk with room for one come one by one', async (t) => {
  const { path: folder } = createSmallDisk(t, 16)
  const fetchOne = async ({ arrival, bytes }: (typeof files)[number]) => {
    const path = join(folder, `${arrival.arrival}.file`)
    const entry = { ...arrival, bytes: bytes.length, modifiedMs: 1 }
    await fetchFile(remoteOf(bytes) as RemoteFiles, entry, { path, freeDiskBytesMin: 0 })
    return path
  }
  const first = await Promise.allSettled(files.map(fetchOne))
  for (const one of first) {
    if (one.status === 'rejected') t.match(one.reason, { code: 'DISK_FULL' })
  }
  const there = readdirSync(folder).filter((name) => !name.endsWith('.part'))
  t.same(readdirSync(folder), there, 'what does not fit gives its space back')
  for (const name of there) rmSync(join(folder, name))
  for (const file of files) {
    const path = await fetchOne(file)
    t.ok(readFileSync(path).equals(file.bytes))
    rmSync(path)
  }
})
