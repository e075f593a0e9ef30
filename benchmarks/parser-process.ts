import { createReadStream } from 'node:fs'
import { parse } from 'fast-csv'

export interface ParserAnswer {
  /** Without the header. */
  readonly rows: number
  readonly seconds: number
}

/** A process of its own, so that it has no other's memory or compiled code. */
const [, , path = ''] = process.argv
const from = performance.now()
let rows = -1
for await (const _ of createReadStream(path).pipe(parse({ headers: false }))) rows++
const answer: ParserAnswer = { rows, seconds: (performance.now() - from) / 1_000 }
process.send?.(answer)
