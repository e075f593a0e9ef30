import type { Line } from '../context.js'
import type { FileState } from '../ledger/file-state.js'

/** Whether a person said that the good rows of a file are published, however many are rejected. */
export async function isReleased(
  line: Pick<Line, 'ledger'>,
  { arrival }: Pick<FileState, 'arrival'>,
): Promise<boolean> {
  return (await line.ledger.arrival(arrival))?.release === true
}
