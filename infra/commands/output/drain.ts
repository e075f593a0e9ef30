import { once } from 'node:events'

/**
 * Resolves when everything that was written to standard output and standard error has been taken: a pipe
 * holds 64 KB, and the end of the process would drop the rest. Resolves with false if `ending` fires
 * first, as it does when the reader of standard output is gone.
 */
export async function untilTaken(ending: AbortSignal): Promise<boolean> {
  if (ending.aborted) return true
  const taken = [process.stdout, process.stderr].map(
    (stream) => new Promise<void>((resolve) => stream.write('', () => resolve())),
  )
  const all = Promise.all(taken).then(() => !ending.aborted)
  return Promise.race([all, once(ending, 'abort').then(() => false)])
}
