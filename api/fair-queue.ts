/** Calls that continue in one turn of the event loop. */
const callsPerTurn = 8

/**
 * Continues a few calls in each turn of the event loop, in order of arrival. A request that could be
 * answered immediately then waits for a few calls of a burst, not for all of them. Undefined means
 * that the call may continue immediately.
 */
export function createFairQueue(): () => Promise<void> | undefined {
  const waiting: (() => void)[] = []
  /** Calls continued in this turn; 0 while no next turn is scheduled. */
  let gone = 0
  const next = () => {
    const due = waiting.splice(0, callsPerTurn)
    gone = due.length
    for (const go of due) go()
    if (gone > 0) setImmediate(next)
  }
  return () => {
    if (gone >= callsPerTurn || waiting.length > 0) {
      return new Promise((resolve) => {
        waiting.push(resolve)
      })
    }
    if (gone === 0) setImmediate(next)
    gone++
    return undefined
  }
}
