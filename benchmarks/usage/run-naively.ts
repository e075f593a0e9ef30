import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { NaiveLoad } from './naive.js'
import type { NaiveAnswer } from './naive-process.js'

const program = fileURLToPath(new URL('naive-process.js', import.meta.url))

/** Runs the first attempt in a process of its own; rejects when that ends without an answer. */
export async function runNaively(load: NaiveLoad): Promise<NaiveAnswer> {
  const child = fork(program)
  const answered = once(child, 'message').then(([answer]) => answer as NaiveAnswer)
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the first attempt ended with code ${code} and without an answer`)
  })
  child.send(load)
  const answer = await Promise.race([answered, ended])
  ended.catch(() => undefined)
  return answer
}
