import type { Line } from './line.js'
import type { FileState } from './stores/file-state.js'

/** Whether a person said that the good rows of a file are published, however many are rejected. */
export async function isReleased(
  line: Pick<Line, 'ledger'>,
  { arrival }: Pick<FileState, 'arrival'>,
): Promise<boolean> {
  return (await line.ledger.arrival(arrival))?.release === true
}
