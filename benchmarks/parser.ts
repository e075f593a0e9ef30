import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { ParserAnswer, ParserName } from './parser-process.js'

/** Parses a file in a process of its own; `rows` is NaN if that ends without an answer. */
export async function runParser(path: string, name: ParserName): Promise<ParserAnswer> {
  const child = fork(fileURLToPath(new URL('parser-process.js', import.meta.url)), [path, name])
  const ended = once(child, 'exit').then(() => [{ rows: Number.NaN, seconds: 0 }])
  const [answer] = await Promise.race([once(child, 'message'), ended])
  return answer as ParserAnswer
}
