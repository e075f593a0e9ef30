import type { PipelineContext } from '../context.js'
import type { FileState } from '../ledger/file-state.js'

/** Whether a person said that the good rows of a file are published, however many are rejected. */
export async function isAccepted(
  context: Pick<PipelineContext, 'ledger'>,
  { arrival }: Pick<FileState, 'arrival'>,
): Promise<boolean> {
  return (await context.ledger.arrival(arrival))?.acceptRejects === true
}
