/** Calls that go on in one turn of the event loop. */
const callsATurn = 8

/**
 * Lets a few calls go on in each turn of the event loop, the others in the turns that follow and in
 * the order in which they came: what is answered at once waits for a few of a burst, not for all of
 * it. Undefined lets a call go on at once.
 */
export function createFairQueue(): () => Promise<void> | undefined {
  const waiting: (() => void)[] = []
  /** Calls that went on in this turn; 0 while no next turn is awaited. */
  let gone = 0
  const next = () => {
    const due = waiting.splice(0, callsATurn)
    gone = due.length
    for (const go of due) go()
    if (gone > 0) setImmediate(next)
  }
  return () => {
    if (gone >= callsATurn || waiting.length > 0) {
      return new Promise((resolve) => {
        waiting.push(resolve)
      })
    }
    if (gone === 0) setImmediate(next)
    gone++
    return undefined
  }
}
