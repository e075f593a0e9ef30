import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../schemas/fault.js'
import { chunkName, landedFolder } from './landing.js'
import type { Line } from './line.js'
import type { LoadTask } from './load.js'
import { readStamp } from './stamps.js'
import type { Statement } from './stores/clickhouse.js'
import {
  csvSettings,
  gatherStamps,
  type Handing,
  type Reader,
  storePlainRows,
} from './stores/judge.js'
import { onceSettings, stagingOf } from './stores/staging.js'

/**
 * Lets the engine store the plainly good rows of a chunk. Returns how it read them, or undefined
 * where it cannot: the shape of the chunk is odd, or the engine takes its quotes for wrong.
 */
export async function loadPlainRows(line: Line, task: LoadTask): Promise<Reader | undefined> {
  const { arrival, chunk, feed } = task
  if (chunk.shape === 'odd') return undefined
  const reader: Reader = chunk.shape === 'quoted' ? 'csv' : 'lines'
  const settings = reader === 'csv' ? csvSettings : {}
  const token = (what: string) => onceSettings(`${what}-${arrival}-${chunk.line}-${chunk.rows}`)
  const hand = (statement: Statement, what: string) =>
    handOver(line, task, { ...statement, settings: { ...settings, ...token(what) } })
  const handing = handingOf(line, task)
  try {
    await hand(gatherStamps({ arrival, reader, handing }), 'stamps')
    await explainStamps(line, arrival)
    const { negative, quantityMax } = line.profile.usage
    const negativeAllowed = negative[feed]
    const options = { ...task, reader, handing, commodity: feed, negativeAllowed, quantityMax }
    await hand(storePlainRows(options), 'plain')
    return reader
  } catch (error) {
    if (reader === 'csv' && error instanceof Fault && error.code === 'STORE_REFUSED') {
      return undefined
    }
    throw error
  }
}

function chunkPath(landing: string, { arrival, chunk }: LoadTask): string {
  return join(landedFolder(landing, arrival), chunkName(chunk.chunk))
}

function handingOf(line: Line, task: LoadTask): Handing {
  return line.storeLanding === undefined
    ? { body: true }
    : { path: chunkPath(line.storeLanding, task) }
}

async function handOver(line: Line, task: LoadTask, statement: Statement): Promise<void> {
  if (line.storeLanding !== undefined) return line.store.command(statement)
  return line.store.command(statement, createReadStream(chunkPath(line.folders.landing, task)))
}

/** Writes down what each timestamp means that no chunk of the file has shown before. */
async function explainStamps(line: Line, arrival: number): Promise<void> {
  const { texts, stamps } = stagingOf(arrival)
  const unknown = await line.store.rows<{ text: string }>({
    sql: `SELECT DISTINCT text FROM ${texts} WHERE text NOT IN (SELECT text FROM ${stamps})`,
  })
  const meanings = unknown.flatMap(({ text }) => {
    const stamp = readStamp(text, { zone: line.zone, dateOrder: line.profile.usage.dateOrder })
    if (stamp === undefined) return []
    const { startsAt, localDay, localHour } = stamp
    return [{ text, starts_at: startsAt, local_day: localDay, local_hour: localHour }]
  })
  if (meanings.length > 0) await line.store.insert(stamps, meanings)
}
