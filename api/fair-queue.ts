/** Calls that continue immediately in a millisecond, and later ones in a turn of the event loop. */
const callsAtOnceMax = 8
const windowMs = 1

/**
 * Continues a few calls of a burst at once and the others in later turns of the event loop, in order
 * of arrival. A request that could be answered immediately then waits for a few calls of a burst, not
 * for all of them. Undefined means that the call may continue immediately.
 */
export function createFairQueue(
  callsAtOnce = callsAtOnceMax,
  nowMs = () => performance.now(),
): () => Promise<void> | undefined {
  const waiting: (() => void)[] = []
  /** Calls continued since the last turn that was scheduled here, or in this millisecond. */
  let gone = 0
  let since = 0
  const next = () => {
    const due = waiting.splice(0, callsAtOnce)
    gone = due.length
    for (const go of due) go()
    if (waiting.length > 0) setImmediate(next)
  }
  return () => {
    const now = nowMs()
    if (now - since >= windowMs) {
      since = now
      gone = 0
    }
    if (gone < callsAtOnce && waiting.length === 0) {
      gone++
      return undefined
    }
    if (waiting.length === 0) setImmediate(next)
    return new Promise((resolve) => {
      waiting.push(resolve)
    })
  }
}
