import { stat } from 'node:fs/promises'
import { Fault } from '../../schemas/fault.js'
import { isSchedule } from '../../schemas/feed.js'
import type { Arrival, FileEntry, Ledger } from '../ledger/ledger.js'
import { attempt, ifThere } from '../sources/disk.js'

/** The sources of uploaded files and of files of pushed rows. */
export const uploadSource = 'upload'
export const pushSource = 'push'

/** How a complete local file becomes an arrival. */
export interface Arrive {
  /**
   * The latest arrival of a file at a path, unless it was settled and not loaded. A settled schedule
   * may have been replaced since, so it may arrive again; so may a file after a correction of its name.
   * Throws `FILE_AHEAD` where the correction came while the file itself was not settled: it keeps its path.
   */
  find(path: string): Promise<number | undefined>
  /**
   * Gives the file a number, the same one to all processes that claim it at once; undefined if it is
   * gone. A file of pushed rows may have the name of one that was loaded, if the clock was set back.
   */
  claim(source: string, file: LocalFile): Promise<number | undefined>
  /** The same for an upload, unless the name is another's by then. */
  claimUnless(file: LocalFile, isOfOthers: () => Promise<boolean>): Promise<number | undefined>
}

/** No arrival is later. */
const last = 2 ** 32 - 1

interface LocalFile {
  readonly name: string
  readonly path: string
}

/** Claims and lets begin; without Redis the claim is enough, because the sweep begins it later. */
export function createArrive(ledger: Ledger, begin: (arrival: Arrival) => void): Arrive {
  const find = async (path: string, pushed?: FileEntry) => {
    const found = await ledger.latest({ path })
    if (found === undefined) return undefined
    const state = await ledger.state(found.arrival)
    if (state?.settledAt === undefined) return found
    const isRefused = state.status === 'quarantined' || state.status === 'replaced'
    if (isRefused || isSchedule(state.feed)) return undefined
    if ((await ledger.published({ ...state, arrival: last })) === undefined) return undefined
    return pushed === undefined || isSame(pushed, found) ? found : undefined
  }
  const claimUnless = async (entry: FileEntry, isOfOthers: () => Promise<boolean>) => {
    const known = async () =>
      (await find(entry.path, entry.source === pushSource ? entry : undefined))?.arrival
    const isRefused = async () => (await known()) !== undefined || (await isOfOthers())
    const claimed = await ledger.claimUnless(entry, isRefused)
    // Whoever claims it between the two questions makes it look like another's.
    if (claimed === undefined) return known()
    begin(claimed)
    return claimed.arrival
  }
  const isCorrected = async ({ name, arrival }: Arrival) => {
    const latest = await ledger.latest({ name })
    if (latest === undefined || latest.arrival <= arrival) return false
    const state = await ledger.state(latest.arrival)
    return state === undefined || !['quarantined', 'duplicate', 'replaced'].includes(state.status)
  }
  return {
    find: async (path) => {
      const found = await find(path)
      if (found === undefined || !(await isCorrected(found))) return found?.arrival
      const detail = `arrival ${found.arrival} of ${found.name} is being loaded, and was corrected since`
      throw new Fault('FILE_AHEAD', `${detail}; send it again when its receipt is there`)
    },
    claim: async (source, file) => {
      const entry = await ifThere(toEntry(source, file))
      return entry && claimUnless(entry, async () => false)
    },
    claimUnless: async (file, isOfOthers) =>
      claimUnless(await toEntry(uploadSource, file), isOfOthers),
  }
}

function isSame(one: FileEntry, other: FileEntry): boolean {
  return one.bytes === other.bytes && one.modifiedMs === other.modifiedMs
}

async function toEntry(source: string, { name, path }: LocalFile): Promise<FileEntry> {
  const { size, mtimeMs } = await attempt(path, () => stat(path))
  return {
    source,
    name,
    path,
    bytes: size,
    modifiedMs: Math.trunc(mtimeMs),
    wholeBy: source === uploadSource ? 'digest' : '',
    force: false,
  }
}
