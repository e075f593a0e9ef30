/**
 * What `answer` settles to, or what `onLate` returns or throws where it takes longer than `timeoutMs`.
 * The timer ends with the answer, so that it keeps no process alive.
 */
export async function withDeadline<T, L>(
  answer: Promise<T>,
  timeoutMs: number,
  onLate: () => L | Promise<L>,
): Promise<T | L> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<L>((resolve, reject) => {
    timer = setTimeout(() => {
      try {
        resolve(onLate())
      } catch (error) {
        reject(error)
      }
    }, timeoutMs)
  })
  try {
    return await Promise.race([answer, late])
  } finally {
    clearTimeout(timer)
  }
}
