import { createReadStream } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../schemas/fault.js'
import { chunkName, landedFolder } from './landing.js'
import type { Line } from './line.js'
import { type LoadTask, rulesOf } from './load-task.js'
import { explainStamp, type Stamp } from './stamps.js'
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
    await hand(gatherStamps({ arrival, chunk, reader, handing }), 'stamps')
    await explainStamps(line, task)
    const { negative, quantityMax } = line.profile.usage
    const negativeAllowed = negative[feed]
    const options = { ...task, reader, handing, commodity: feed, negativeAllowed, quantityMax }
    await hand(storePlainRows({ ...options, into: 'reads' }), 'plain')
    if (await hasRepeats(line, task)) {
      await hand(storePlainRows({ ...options, into: 'repeats' }), 'repeat')
    }
    return reader
  } catch (error) {
    if (reader === 'csv' && error instanceof Fault && error.code === 'STORE_REFUSED') {
      return undefined
    }
    throw error
  }
}

/** Whether a timestamp of the chunk lies in the hour that the clock repeats. */
async function hasRepeats(line: Line, { arrival, chunk }: LoadTask): Promise<boolean> {
  const { texts, stamps } = stagingOf(arrival)
  const rows = await line.store.rows({
    sql: `SELECT 1 FROM ${texts} WHERE chunk = {chunk:UInt32}
      AND text IN (SELECT text FROM ${stamps} WHERE second_at != 0) LIMIT 1`,
    parameters: { chunk: chunk.chunk },
  })
  return rows.length > 0
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
async function explainStamps(line: Line, task: LoadTask): Promise<void> {
  const { texts, stamps } = stagingOf(task.arrival)
  const unknown = await line.store.rows<{ text: string }>({
    sql: `SELECT DISTINCT text FROM ${texts} WHERE text NOT IN (SELECT text FROM ${stamps})`,
  })
  await keepStamps(
    line,
    task,
    unknown.map(({ text }) => text),
  )
}

/** Writes down what timestamps of a file mean; those that mean nothing are left out. */
export async function keepStamps(
  line: Line,
  task: LoadTask,
  texts: Iterable<string>,
): Promise<void> {
  const rules = rulesOf(line, task)
  const meanings = [...texts].flatMap((text) => {
    const stamp = explainStamp(text, rules)
    return stamp === undefined ? [] : [toStampRow(stamp)]
  })
  if (meanings.length > 0) await line.store.insert(stagingOf(task.arrival).stamps, meanings)
}

const noSecond = { startsAt: 0, localDay: '1970-01-01', localHour: 0 }

function toStampRow({ text, first, second = noSecond }: Stamp): object {
  return {
    text,
    starts_at: first.startsAt,
    local_day: first.localDay,
    local_hour: first.localHour,
    second_at: second.startsAt,
    second_day: second.localDay,
    second_hour: second.localHour,
  }
}
