import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { FetchAnswer, FetchRequest } from './fetch-process.js'

const program = fileURLToPath(new URL('fetch-process.js', import.meta.url))

/** One fetch in a process of its own. */
export async function runFetch(request: FetchRequest) {
  const child = fork(program)
  const answered = once(child, 'message').then(([answer]) => answer as FetchAnswer)
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`a fetch ended with code ${code} and without an answer`)
  })
  child.send(request)
  const { seconds, bytes, peakMb } = await Promise.race([answered, ended])
  ended.catch(() => undefined)
  return { seconds, bytes, mb: peakMb }
}
