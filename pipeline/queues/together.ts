import { AsyncResource } from 'node:async_hooks'
import { withDeadline } from '../deadline.js'
import { passingFault } from './wait.js'

export interface TogetherOptions<T> {
  /** Items of one run, at most. */
  readonly most: number
  /** Whether an item may be in the same run as those before it; otherwise it begins the next one. */
  readonly joins?: (items: readonly T[], item: T) => boolean
  /** After this time, in milliseconds, the next run begins beside the one that is under way. */
  readonly patienceMs?: number
}

interface Waiting<T> {
  readonly item: T
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
  /** The task and trace of who asked. */
  readonly scope: AsyncResource
}

const patienceMsMax = 30_000

/**
 * Runs together what is asked for while a run is under way, in its order and in the task and trace of the first.
 * Where a run of several fails by what does not pass, each is run alone, so that only those fail whose fault it is.
 * What is returned settles when the run of its item has.
 */
export function runTogether<T>(
  run: (items: readonly T[]) => Promise<void>,
  { most, joins = () => true, patienceMs = patienceMsMax }: TogetherOptions<T>,
): (item: T) => Promise<void> {
  const waiting: Waiting<T>[] = []
  let isRunning = false
  const take = (): readonly Waiting<T>[] => {
    const items: T[] = []
    for (const { item } of waiting) {
      if (items.length === most || (items.length > 0 && !joins(items, item))) break
      items.push(item)
    }
    return waiting.splice(0, items.length)
  }
  const end = async (some: readonly Waiting<T>[]): Promise<void> => {
    const items = some.map(({ item }) => item)
    try {
      await some[0]?.scope.runInAsyncScope(() => run(items))
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
    while (waiting.length > 0) await withDeadline(end(take()), patienceMs, () => undefined)
    isRunning = false
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject, scope: new AsyncResource('together') })
      if (!isRunning) void runAll()
    })
}
