/** Limits concurrent holders; the others wait in order of arrival. */
export interface Semaphore {
  /**
   * Resolves with the function that releases the permit, to be called once; undefined if there was none
   * within `waitMs`.
   */
  acquire(waitMs?: number): Promise<(() => void) | undefined>
  /** How many hold a permit or wait for one. */
  inUse(): number
}

export function createSemaphore(count: number): Semaphore {
  const waiting = new Set<() => void>()
  let free = count
  const release = (): void => {
    const [next] = waiting
    if (next === undefined) free++
    else next()
  }
  return {
    inUse: () => count - free + waiting.size,
    acquire: (waitMs) => {
      if (free > 0) {
        free--
        return Promise.resolve(release)
      }
      return new Promise((resolve) => {
        const timer = waitMs === undefined ? undefined : setTimeout(() => settle(false), waitMs)
        const settle = (hasPermit: boolean): void => {
          clearTimeout(timer)
          waiting.delete(next)
          resolve(hasPermit ? release : undefined)
        }
        const next = (): void => settle(true)
        waiting.add(next)
      })
    },
  }
}
