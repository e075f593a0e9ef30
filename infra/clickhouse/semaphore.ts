/** Limits concurrent holders; the others wait in order of arrival. */
export interface Semaphore {
  /** Resolves with the function that releases the permit. */
  acquire(): Promise<() => void>
}

export function createSemaphore(count: number): Semaphore {
  const waiting: (() => void)[] = []
  let free = count
  const release = (): void => {
    const next = waiting.shift()
    if (next === undefined) free++
    else next()
  }
  const releaseOnce = (): (() => void) => {
    let isReleased = false
    return () => {
      if (isReleased) return
      isReleased = true
      release()
    }
  }
  return {
    acquire: async () => {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return releaseOnce()
    },
  }
}
