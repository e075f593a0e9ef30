import { rateSetOf } from '../../schemas/file-name.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { SourceSettings } from '../../schemas/settings/source.js'
import type { Arrival } from '../ledger/ledger.js'
import { isSameFile, type RemoteFile, type RemoteFiles } from './remote-files.js'
import type { Settlement } from './source.js'

/** What the action after load needs of a remote file system. */
export type WritableFiles = Pick<RemoteFiles, 'look' | 'write' | 'move' | 'remove'>

export interface AfterLoadOptions {
  readonly settings: Pick<SourceSettings, 'ended' | 'receipts'>
  readonly naming: Naming
}

type Apply = (remote: WritableFiles, file: RemoteFile, ended: Ended) => Promise<void>

interface Ended {
  /** Name of the file in the archive. */
  readonly as: string
  readonly outcome: Settlement['outcome']
}

const actions: Readonly<Record<SourceSettings['ended'], Apply>> = {
  take: (remote, file) => remote.remove(file.path),
  rename: (remote, file, { as }) => remote.move(file, as),
  mark: (remote, file, { outcome }) =>
    remote.write(`${file.name}.ended`, Buffer.from(`${outcome}\n`)),
  leave: async () => undefined,
}

/** A longer name leaves no room for a suffix. */
const nameBytesMax = 230

/**
 * Writes receipt and rejects beside a file and applies the profile's action after load. A file that
 * is gone needs nothing more, and one that was replaced since is not touched.
 */
export async function applyAfterLoad(
  remote: WritableFiles,
  settled: { readonly arrival: Arrival; readonly settlement: Settlement; readonly as: string },
  { settings, naming }: AfterLoadOptions,
): Promise<void> {
  const { arrival, settlement, as } = settled
  const { receipt, rejectsPath } = settlement
  const { ended, receipts } = settings
  const hasRoom = Buffer.byteLength(arrival.name) <= nameBytesMax
  if (receipts && hasRoom) {
    await remote.write(`${arrival.name}.receipt.json`, Buffer.from(receipt))
    if (rejectsPath) await remote.write(`${arrival.name}.rejects.csv`, { path: rejectsPath })
    // Those of the first stay with a file that came again.
    else if (settlement.outcome !== 'duplicate') await remote.remove(`${arrival.path}.rejects.csv`)
  }
  const found = await remote.look(arrival.path)
  if (found !== undefined && !isSameFile(found, arrival)) return
  const canEnd = hasRoom || ended !== 'mark'
  if (found !== undefined && canEnd)
    await actions[ended](remote, found, { as, outcome: settlement.outcome })
  if (ended === 'take' || ended === 'rename') await removeDone(remote, arrival, naming)
}

/** Removes the sender's done-files; a name without room for the suffix had none. */
async function removeDone(
  remote: WritableFiles,
  { name, path }: Arrival,
  naming: Naming,
): Promise<void> {
  if (Buffer.byteLength(name) <= nameBytesMax) await remote.remove(`${path}.done`)
  for (const done of rateSetOf(name, naming)?.done ?? []) {
    await remote.remove(`${path.slice(0, -name.length)}${done}`)
  }
}
