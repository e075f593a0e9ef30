import { passingFault } from './wait.js'

interface Waiting<T> {
  readonly item: T
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/**
 * Runs together what is asked for while a run is under way: in its order, one run at a time, at most `most` items
 * each. Where a run of several fails by what does not pass, each is run alone, so that only those fail whose fault
 * it is. What is returned settles when the run of its item has.
 */
export function runTogether<T>(
  run: (items: readonly T[]) => Promise<void>,
  most: number,
): (item: T) => Promise<void> {
  const waiting: Waiting<T>[] = []
  let isRunning = false
  const end = async (some: readonly Waiting<T>[]): Promise<void> => {
    try {
      await run(some.map(({ item }) => item))
      for (const { resolve } of some) resolve()
    } catch (error) {
      if (some.length === 1 || passingFault(error) !== undefined) {
        for (const { reject } of some) reject(error)
        return
      }
      for (const one of some) await end([one])
    }
  }
  const runAll = async (): Promise<void> => {
    isRunning = true
    while (waiting.length > 0) await end(waiting.splice(0, most))
    isRunning = false
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      if (!isRunning) void runAll()
    })
}
