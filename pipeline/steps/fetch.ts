import { Fault } from '../../schemas/fault.js'
import type { PipelineContext } from '../context.js'
import { admit } from './receive.js'

/**
 * Copies the file of an arrival to this machine before it is received. A file that is refused by its
 * name or size is not fetched: `receive` records the reason.
 */
export async function fetch(context: PipelineContext, number: number): Promise<void> {
  const arrival = await context.ledger.arrival(number)
  if (arrival === undefined) return
  if ((await context.ledger.state(number)) === undefined) {
    try {
      await admit(context, arrival)
      await context.sources.get(arrival.source)?.fetch?.(arrival)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.retry && error.code !== 'SOURCE_CHANGED') throw error
    }
  }
  await context.queues.add('receive', { v: 1, arrival: number })
}
