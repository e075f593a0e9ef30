import { Fault } from '../../schemas/fault.js'
import type { Line } from '../context.js'
import { admit } from './receive.js'

/**
 * Brings the file of an arrival onto this machine before it is received. One that cannot be taken in
 * whatever its bytes are is not fetched: `receive` says why.
 */
export async function fetch(line: Line, number: number): Promise<void> {
  const arrival = await line.ledger.arrival(number)
  if (arrival === undefined) return
  if ((await line.ledger.state(number)) === undefined) {
    try {
      await admit(line, arrival)
      await line.sources.get(arrival.source)?.fetch?.(arrival)
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      if (error.retry && error.code !== 'SOURCE_CHANGED') throw error
    }
  }
  await line.queues.add('receive', { v: 1, arrival: number })
}
