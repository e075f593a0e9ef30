import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { parse } from 'fast-csv'

/** Parsers that others would use: of CSV, and of Green Button. They only parse. */
export type ParserName = 'fast-csv' | 'green-button-parser'

export interface ParserAnswer {
  /** Rows without the header, or reads. */
  readonly rows: number
  readonly seconds: number
}

/** Named in a string, since its sources, which it ships, do not compile under strict settings. */
const greenButtonParser: string = '@cityssm/green-button-parser'

interface GreenButtonParser {
  atomToGreenButtonJson(text: string): Promise<{ readonly entries: readonly Entry[] }>
}

interface Entry {
  readonly content: {
    readonly IntervalBlock?: readonly { readonly IntervalReading?: readonly unknown[] }[]
  }
}

/** Each reads a file and counts its rows without the header, or its reads. */
const parsers: Readonly<Record<ParserName, (path: string) => Promise<number>>> = {
  'fast-csv': async (path) => {
    let rows = -1
    for await (const _ of createReadStream(path).pipe(parse({ headers: false }))) rows++
    return rows
  },
  'green-button-parser': async (path) => {
    const { atomToGreenButtonJson } = (await import(greenButtonParser)) as GreenButtonParser
    const { entries } = await atomToGreenButtonJson(await readFile(path, 'utf8'))
    const blocks = entries.flatMap(({ content }) => content.IntervalBlock ?? [])
    return blocks.reduce((reads, { IntervalReading = [] }) => reads + IntervalReading.length, 0)
  },
}

/** A process of its own, so that it has no other's memory or compiled code. */
const [, , path = '', name] = process.argv
const from = performance.now()
const rows = await parsers[name as ParserName](path)
const answer: ParserAnswer = { rows, seconds: (performance.now() - from) / 1_000 }
process.send?.(answer)
