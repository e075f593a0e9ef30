/** Calls that continue in a turn of the event loop. */
const callsATurnMax = 4

/**
 * Continues a few calls of a burst at once and the others in later turns of the event loop, in order
 * of arrival. A request that could be answered immediately then waits for a few calls of a burst, not
 * for all of them. Undefined means that the call may continue immediately.
 */
export function createFairQueue(callsMax = callsATurnMax): () => Promise<void> | undefined {
  const waiting: (() => void)[] = []
  /** Calls continued in this turn. */
  let gone = 0
  let isCounting = false
  const turn = () => {
    const due = waiting.splice(0, callsMax)
    gone = due.length
    isCounting = gone > 0
    if (isCounting) setImmediate(turn)
    for (const go of due) go()
  }
  return () => {
    if (!isCounting) setImmediate(turn)
    isCounting = true
    if (gone < callsMax && waiting.length === 0) {
      gone++
      return undefined
    }
    return new Promise((resolve) => {
      waiting.push(resolve)
    })
  }
}
