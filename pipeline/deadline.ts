/**
 * What `answer` settles to, or what `onLate` returns or throws where it takes longer than `timeoutMs`.
 * The timer ends with the answer, so that it keeps no process alive.
 */
export function withDeadline<T, L>(
  answer: Promise<T>,
  timeoutMs: number,
  onLate: () => L | Promise<L>,
): Promise<T | L> {
  return new Promise<T | L>((resolve, reject) => {
    const timer = setTimeout(() => {
      try {
        resolve(onLate())
      } catch (error) {
        reject(error)
      }
    }, timeoutMs)
    answer.then(
      (value) => {
        clearTimeout(timer)
        resolve(value)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error)
      },
    )
  })
}

/**
 * Runs what cannot be stopped. Throws what `late` returns where a run takes longer than `timeoutMs`, and at once
 * for as long as that run goes on.
 */
export function unlessStuck<T>(
  run: () => Promise<T>,
  timeoutMs: number,
  late: () => Error,
): () => Promise<T> {
  let isStuck = false
  const free = () => {
    isStuck = false
  }
  return async () => {
    if (isStuck) throw late()
    const running = run()
    return withDeadline(running, timeoutMs, () => {
      isStuck = true
      running.then(free, free)
      throw late()
    })
  }
}
