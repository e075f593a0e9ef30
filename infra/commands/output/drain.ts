import { once } from 'node:events'
import { Fault } from '../../../schemas/fault.js'
import { reasonOf } from './out-file.js'

/**
 * Ends the command when standard output fails: a closed pipe (`| head`) as Ctrl-C does. Returns a
 * function for any other failure, such as a full disk. What standard error does not take is lost.
 */
export function watchOutput(ending: AbortController): () => Fault | undefined {
  let failure: Fault | undefined
  process.stdout.on('error', (cause: NodeJS.ErrnoException) => {
    const { code = cause.message } = cause
    const detail = `standard output cannot be written: ${reasonOf(code)}; write it to another disk`
    if (code !== 'EPIPE') failure ??= new Fault('CONFIG', detail, { cause })
    ending.abort(cause)
  })
  process.stderr.on('error', () => undefined)
  return () => failure
}

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
