import { join } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { keptName } from '../../schemas/file-name.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { SourceSettings } from '../../schemas/settings/source.js'
import type { Arrival } from '../ledger/ledger.js'
import { applyAfterLoad } from './after-load.js'
import { moveFile, putBeside, readLocal, trialContent, trialName } from './disk.js'
import { fetchFile, isThere, markOf } from './fetch-file.js'
import { createLink } from './link.js'
import { describeOthers, type RemoteFiles, toListed } from './remote-files.js'
import type { Source } from './source.js'

export interface RemoteOptions {
  readonly settings: Pick<SourceSettings, 'name' | 'ended' | 'endedFolder' | 'receipts'>
  readonly landing: string
  readonly archive: string
  readonly quarantine: string
  /** Bytes that must stay free in the landing folder. */
  readonly freeDiskBytesMin: number
  readonly naming: Naming
  readonly connect: () => Promise<RemoteFiles>
}

/**
 * The path of a remote file's local copy until it is settled. It names the state of the file too: after a
 * restore of the store another file gets the number, and the copy of the first may still be there.
 */
export function copyOf(landing: string, arrival: Arrival): string {
  return join(landing, `${arrival.arrival}.file.${markOf(arrival)}`)
}

/**
 * A source on another machine. A file is copied to the landing, complete and durable, before it is
 * read; the copy moves to the archive. Only then is the file removed from the source.
 */
export function createRemote(options: RemoteOptions): Source {
  const { settings, landing, freeDiskBytesMin } = options
  const link = createLink(options.connect)
  let others = ''
  const fetch = (arrival: Arrival) =>
    link.use((remote) => {
      const path = copyOf(landing, arrival)
      return fetchFile(remote, arrival, { path, freeDiskBytesMin })
    })
  return {
    name: settings.name,
    keeps: settings.ended === 'mark' || settings.ended === 'leave',
    list: () =>
      link.use(async (remote) => {
        const entries = await remote.list()
        others = describeOthers(entries, options)
        return toListed(options, entries)
      }),
    others: () => others,
    fetch,
    read: (arrival) => readCopy(arrival),
    settle: async (arrival, settlement) => {
      const folder = settlement.outcome === 'quarantined' ? options.quarantine : options.archive
      const as = keptName(arrival.arrival, arrival.name)
      const away = join(folder, as)
      const copy = copyOf(landing, arrival)
      // Another machine may have read it, and have the copy. What was refused unread stays where it is.
      const isKept = settings.ended === 'take' || settlement.outcome !== 'quarantined'
      if (isKept && !(await isThere(away))) await fetch(arrival).catch(letGo)
      if (await isThere(copy)) await moveFile(copy, away)
      if (settlement.outcome === 'quarantined') await putBeside(away, settlement.receipt)
      await link.use((remote) => applyAfterLoad(remote, { arrival, settlement, as }, options))
    },
    tryWriting: () =>
      link.use(async (remote) => {
        await remote.write(trialName, trialContent)
        const written = (await remote.list()).filter(({ name }) => name === trialName)
        for (const { path } of written) await remote.remove(path)
      }),
    close: link.close,
  }

  async function* readCopy(arrival: Arrival): AsyncIterable<Buffer> {
    const copy = copyOf(landing, arrival)
    if (!(await isThere(copy))) await fetch(arrival)
    yield* readLocal(copy)
  }
}

/** A file that is gone from the source or was replaced cannot be archived and is not touched. */
function letGo(error: unknown): void {
  if (!(error instanceof Fault) || error.code !== 'SOURCE_CHANGED') throw error
}
