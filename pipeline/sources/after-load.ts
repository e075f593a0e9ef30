import { rateSetOf } from '../../schemas/file-name.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { SourceSettings } from '../../schemas/settings/source.js'
import type { Arrival } from '../ledger/ledger.js'
import { isSame, type Place, type PlacedFile } from './remote-files.js'
import type { Settlement } from './source.js'

/** What of a place is needed to tell it that a file has ended. */
export type Told = Pick<Place, 'look' | 'write' | 'move' | 'remove'>

export interface Ending {
  readonly settings: Pick<SourceSettings, 'ended' | 'receipts'>
  readonly naming: Naming
}

type End = (place: Told, file: PlacedFile, ended: Ended) => Promise<void>

interface Ended {
  /** What the file is called where it is put away. */
  readonly as: string
  readonly outcome: Settlement['outcome']
}

const endings: Readonly<Record<SourceSettings['ended'], End>> = {
  take: (place, file) => place.remove(file.path),
  rename: (place, file, { as }) => place.move(file, as),
  mark: (place, file, { outcome }) =>
    place.write(`${file.name}.ended`, Buffer.from(`${outcome}\n`)),
  leave: async () => undefined,
}

/** A name that is longer leaves no room for an ending behind it. */
const nameBytesMax = 230

/**
 * Puts receipt and rejects beside a file and does with it what the profile says. One that has gone
 * needs no more, and one that is another by now is not touched.
 */
export async function endFile(
  place: Told,
  settled: { readonly arrival: Arrival; readonly settlement: Settlement; readonly as: string },
  { settings, naming }: Ending,
): Promise<void> {
  const { arrival, settlement, as } = settled
  const { receipt, rejectsPath } = settlement
  const { ended, receipts } = settings
  const hasRoom = Buffer.byteLength(arrival.name) <= nameBytesMax
  if (receipts && hasRoom) {
    await place.write(`${arrival.name}.receipt.json`, Buffer.from(receipt))
    if (rejectsPath) await place.write(`${arrival.name}.rejects.csv`, { path: rejectsPath })
    else await place.remove(`${arrival.path}.rejects.csv`)
  }
  const found = await place.look(arrival.path)
  if (found !== undefined && !isSame(found, arrival)) return
  const canEnd = hasRoom || ended !== 'mark'
  if (found !== undefined && canEnd)
    await endings[ended](place, found, { as, outcome: settlement.outcome })
  if (ended === 'take' || ended === 'rename') await removeDone(place, arrival, naming)
}

/** Takes away the sender's signs; a name that leaves no room for one had none. */
async function removeDone(place: Told, { name, path }: Arrival, naming: Naming): Promise<void> {
  if (Buffer.byteLength(name) <= nameBytesMax) await place.remove(`${path}.done`)
  for (const done of rateSetOf(name, naming)?.done ?? []) {
    await place.remove(`${path.slice(0, -name.length)}${done}`)
  }
}
