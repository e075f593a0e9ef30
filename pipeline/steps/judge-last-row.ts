import type { FileName } from '../../schemas/file-name.js'
import type { PipelineContext } from '../context.js'
import { provesItself, type RowSetting } from '../files/last-row.js'
import type { UnendedRow } from '../files/rows.js'
import type { Arrival } from '../ledger/ledger.js'
import { reprocessedBy } from './reprocess.js'

/** So many files in a row show that a sender never ends the last line. */
const habitFiles = 5

export interface UnendedFile extends Omit<RowSetting, 'feed'> {
  readonly arrival: Arrival
  readonly name: FileName
  /** Whether the row was made of a line in another layout, whose own last field does not show. */
  readonly converted: boolean
}

/**
 * Whether the last row of a file is whole although it has no line end (decision 20): the transfer, the
 * archive, the row itself or the habit of its sender shows it. Otherwise it is not loaded. In a repair
 * it is what it was in the file that is repaired.
 */
export async function isLastRowWhole(
  context: Pick<PipelineContext, 'profile' | 'store' | 'ledger'>,
  row: UnendedRow,
  { arrival, name, converted, ...file }: UnendedFile,
): Promise<boolean> {
  const { profile, ledger } = context
  const repaired = arrival.repairs ? await ledger.state(arrival.repairs) : undefined
  if (repaired !== undefined) {
    return repaired.manifest.chunks.every(({ cutLine }) => cutLine === undefined)
  }
  const { lastLineEnd } = profile.files
  if (lastLineEnd !== 'auto') return lastLineEnd === 'optional'
  if (arrival.wholeBy || name.compression !== 'none') return true
  if (!converted && provesItself(row, { ...file, feed: name.feed })) return true
  const sent = await asSent(context, arrival)
  return ledger.lackedLineEnds(sent, { feed: name.feed, files: habitFiles })
}

/** The arrival in which the sender sent a file that is reprocessed. */
async function asSent(
  { store, ledger }: Pick<PipelineContext, 'store' | 'ledger'>,
  arrival: Arrival,
): Promise<Arrival> {
  const of = await reprocessedBy(store, arrival.arrival)
  const first = of === undefined ? undefined : await ledger.arrival(of)
  return first === undefined ? arrival : asSent({ store, ledger }, first)
}
