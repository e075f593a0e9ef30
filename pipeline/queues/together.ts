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
  /** Whether an item may be run beside those that are under way; otherwise it waits for their end. */
  readonly passes?: (underWay: readonly T[], item: T) => boolean
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
  { most, joins = () => true, patienceMs = patienceMsMax, passes = () => true }: TogetherOptions<T>,
): (item: T) => Promise<void> {
  let waiting: Waiting<T>[] = []
  const underWay = new Map<Promise<void>, readonly T[]>()
  let isRunning = false
  const take = (): readonly Waiting<T>[] => {
    const ahead = [...underWay.values()].flat()
    const some: Waiting<T>[] = []
    for (const one of waiting) {
      if (some.length === most) break
      if (ahead.length > 0 && !passes(ahead, one.item)) ahead.push(one.item)
      else if (some.length === 0 || joins(itemsOf(some), one.item)) some.push(one)
      else break
    }
    const taken = new Set(some)
    waiting = waiting.filter((one) => !taken.has(one))
    return some
  }
  const end = async (some: readonly Waiting<T>[]): Promise<void> => {
    try {
      await some[0]?.scope.runInAsyncScope(() => run(itemsOf(some)))
      for (const { resolve } of some) resolve()
    } catch (error) {
      if (some.length === 1 || passingFault(error) !== undefined) {
        for (const { reject } of some) reject(error)
        return
      }
      for (const one of some) await end([one])
    }
  }
  const start = (some: readonly Waiting<T>[]): Promise<void> => {
    const ended = end(some).then(() => {
      underWay.delete(ended)
      if (!isRunning) void runAll()
    })
    underWay.set(ended, itemsOf(some))
    return ended
  }
  const runAll = async (): Promise<void> => {
    isRunning = true
    for (let some = take(); some.length > 0; some = take()) {
      await withDeadline(start(some), patienceMs, () => undefined)
    }
    isRunning = false
  }
  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject, scope: new AsyncResource('together') })
      if (!isRunning) void runAll()
    })
}

function itemsOf<T>(some: readonly Waiting<T>[]): readonly T[] {
  return some.map(({ item }) => item)
}
