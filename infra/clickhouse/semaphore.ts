/** Limits concurrent holders; the others wait in order of arrival. */
export interface Semaphore {
  /** Resolves with the function that releases the permit, to be called once. */
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
  return {
    acquire: async () => {
      if (free > 0) free--
      else await new Promise<void>((resolve) => waiting.push(resolve))
      return release
    },
  }
}
