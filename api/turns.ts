/** Calls that go on in one turn of the event loop. */
const callsATurn = 8

/**
 * Gives the calls that wait here a few at a time to each turn of the event loop, in the order in
 * which they came: what is answered at once waits for a few of a burst, not for all of it.
 */
export function createTurns(): () => Promise<void> {
  const waiting: (() => void)[] = []
  let isDue = false
  const run = () => {
    for (const go of waiting.splice(0, callsATurn)) go()
    isDue = waiting.length > 0
    if (isDue) setImmediate(run)
  }
  return () =>
    new Promise((resolve) => {
      waiting.push(resolve)
      if (isDue) return
      isDue = true
      setImmediate(run)
    })
}
