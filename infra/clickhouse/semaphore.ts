/** Lets at most so many holders in at a time; the others wait in order of arrival. */
export interface Semaphore {
  /** Resolves with the function that gives the lane back. */
  acquire(): Promise<() => void>
}

export function createSemaphore(count: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = count
  const leave = (): void => {
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }
  const onlyOnce = (): (() => void) => {
    let isLeft = false
    return () => {
      if (isLeft) return
      isLeft = true
      leave()
    }
  }
  return {
    acquire: async () => {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return onlyOnce()
    },
  }
}
