import { setTimeout as sleep } from 'node:timers/promises'
import { draw } from '../../../infra/demo/draw.js'
import { createStore, type Store } from '../../../pipeline/store/clickhouse.js'
import type { Rig } from '../../rig.js'
import { describeSights, isWhole, judge, look, lookRegistered } from '../sight.js'
import type { SentFile } from './feeder.js'

export interface Readers {
  /** Queries that were answered. */
  looks(): number
  /** What was seen and must never be. */
  readonly wrongs: readonly string[]
  /** The same of `registered_usage`. */
  readonly ownWrongs: readonly string[]
  close(): Promise<void>
}

/** A server with what its readers saw: another one may be behind it. */
interface Server {
  readonly store: Store
  readonly seen: Set<number>
  readonly seenMeters: Set<string>
}

const stream = 0x5eed
const recent = 12

/**
 * Queries `usage` and `registered_usage` all the while, as a data engineer does: a file's rows, and
 * what it corrects, are all there or none is, and what was seen is never out of sight again.
 */
export function createReaders(
  rig: Rig,
  files: readonly SentFile[],
  options: { readonly seed: number; readonly count: number; readonly restMs: number },
): Readers {
  const stores: readonly Server[] = rig.readers.map((address) => ({
    store: createStore(address),
    seen: new Set<number>(),
    seenMeters: new Set<string>(),
  }))
  const wrongs: string[] = []
  const ownWrongs: string[] = []
  let isOpen = true
  let looks = 0
  /** Asked for behind a look: what it shows may have been sent since the one before. */
  const familyOf = (file: SentFile) => files.filter((one) => one.family === file.family)
  const readRegistered = async ({ store, seenMeters }: Server, file: SentFile) => {
    const before = file.usage.meters
      .map(({ meterId }) => meterId)
      .filter((one) => seenMeters.has(one))
    const sights = await lookRegistered(store, file)
    if (sights === undefined) return
    looks++
    const shown = [...sights].map(([meterId, { rows, micros }]) => `${meterId} ${rows} ${micros}`)
    const gone = before.filter((meterId) => !sights.has(meterId))
    for (const meterId of sights.keys()) seenMeters.add(meterId)
    if (isWhole(sights, familyOf(file)) && gone.length === 0) return
    ownWrongs.push(`registered: seen ${shown.join(', ')}, gone ${gone.join(', ') || 'none'}`)
  }
  const read = async (reader: number) => {
    const server = stores[reader % stores.length] as Server
    const { store, seen } = server
    for (let turn = 0; isOpen; turn++) {
      await sleep(options.restMs)
      const back = draw(options.seed + reader, stream, turn) % recent
      const file = files.at(-1 - back) ?? files.at(-1)
      if (file === undefined) continue
      await readRegistered(server, file)
      const wasSeen = seen.has(file.family)
      const sights = await look(store, file)
      if (sights === undefined) continue
      looks++
      const family = familyOf(file)
      const judged = judge(sights, family)
      if (judged === 'partly') wrongs.push(describeSights(sights, family))
      else if (judged !== 'nothing') seen.add(file.family)
      else if (wasSeen) wrongs.push(`out of sight again: ${describeSights(sights, family)}`)
    }
  }
  const reading = Promise.all(Array.from({ length: options.count }, (_, index) => read(index)))
  reading.catch(() => undefined)
  return {
    looks: () => looks,
    wrongs,
    ownWrongs,
    close: async () => {
      isOpen = false
      await reading
      await Promise.all(stores.map(({ store }) => store.close()))
    },
  }
}
