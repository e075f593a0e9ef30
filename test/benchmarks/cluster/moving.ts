import { createClient, type MovableClient } from '../../../benchmarks/cluster/client.js'
import type { Replicas } from '../../rig/replicas/start.js'

/** A client of which `before` may move before each statement that it is shown; nothing else happens to it. */
export function createMoving(
  world: Replicas,
  before: (statement: string, client: MovableClient) => void,
): MovableClient {
  const client: MovableClient = createClient(world, {
    before: async (text) => {
      before(text.trim(), client)
      return undefined
    },
    after: async () => undefined,
    look: async () => undefined,
    slow: async () => undefined,
    patienceMs: () => 1_000,
  })
  return client
}

/** A client of which the other server answers some statements, each for itself. */
export function createDetour(
  world: Replicas,
  isElsewhere: (statement: string) => boolean,
): MovableClient {
  let isAway = false
  return createMoving(world, (statement, { failOver }) => {
    const isDue = isElsewhere(statement)
    if (isDue !== isAway) failOver()
    isAway = isDue
  })
}

/** As a queue does: until it succeeds. */
export async function repeat(step: () => Promise<void>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await step()
    } catch (error) {
      if (attempt === 9) throw error
    }
  }
}
