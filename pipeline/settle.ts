import { createWriteStream } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { plainName } from '../schemas/file-name.js'
import { landedFolder } from './landing.js'
import type { Line } from './line.js'
import { toReceipt } from './receipt.js'
import { learnStarts } from './registrations.js'
import { attempt } from './sources/disk.js'
import type { FileState } from './stores/file-state.js'
import { dropStaging } from './stores/staging.js'

/**
 * Hands out receipt and rejects, lets the source put the file away and drops what loading needed:
 * the acknowledgement, last of all, when everything that it says has long been durable.
 */
export async function settle(line: Line, arrival: number): Promise<void> {
  const state = await line.ledger.state(arrival)
  if (state === undefined || state.settledAt !== undefined) return
  if (state.status === 'published') await learnStarts(line, arrival)
  const origin = await line.ledger.arrival(arrival)
  const settledAt = line.now()
  const receipt = `${JSON.stringify(await receiptOf(line, { ...state, settledAt }), null, 2)}\n`
  const path = join(line.folders.outbox, outboxName(state))
  const rejectsPath = await writeRejects(line, state, `${path}.rejects.csv`)
  await writeWhole(`${path}.receipt.json`, state, (part) => writeFile(part, receipt))
  const source = line.sources.get(state.source)
  if (origin !== undefined && source !== undefined) {
    const { status } = state
    const outcome = status === 'published' || status === 'duplicate' ? status : 'quarantined'
    await source.settle(origin, { outcome, receipt, rejectsPath })
  }
  await rm(landedFolder(line.folders.landing, arrival), { recursive: true, force: true })
  await line.ledger.record({ ...state, settledAt })
  tell(line, state)
  await dropStaging(line.store, arrival)
}

/** One line for each file that has ended; the receipt has the reason in words. */
function tell({ log }: Line, { arrival, fileName, status, fault, rows }: FileState): void {
  const { read, accepted, rejected } = rows
  const fields = { arrival, file: fileName, status, read, accepted, rejected }
  if (status === 'quarantined') log.warn({ ...fields, code: fault }, 'a file is quarantined')
  else log.info(fields, 'a file has ended')
}

/** The receipt of a file; a duplicate's tells what became of the first. */
async function receiptOf(line: Line, state: FileState) {
  const first = state.duplicateOf === 0 ? undefined : await line.ledger.state(state.duplicateOf)
  return toReceipt(state, first)
}

/** A name from the sender is a name only: whatever it holds, the file lies in the outbox. */
function outboxName(state: FileState): string {
  const name = plainName(basename(state.fileName))
  return /^[A-Za-z0-9]/.test(name) ? name : `arrival-${state.arrival}`
}

/** Two arrivals of one name may be settled at the same time: each has a part of its own. */
async function writeWhole(
  path: string,
  { arrival }: FileState,
  write: (part: string) => Promise<void>,
): Promise<void> {
  const part = `${path}.${arrival}.part`
  await attempt(path, async () => {
    await write(part)
    await rename(part, path)
  })
}

/** The rejects of a file; those of an earlier file of its name are taken away where it has none. */
async function writeRejects(
  line: Line,
  state: FileState,
  path: string,
): Promise<string | undefined> {
  if (state.status === 'duplicate') return undefined
  if (state.rows.rejected === 0) {
    await attempt(path, () => rm(path, { force: true }))
    return undefined
  }
  const rows = await line.store.stream(
    {
      sql: `SELECT line AS Line, column_name AS Column, code AS Code, detail AS Detail, raw AS Row
        FROM reject FINAL WHERE arrival = {arrival:UInt32} ORDER BY line`,
      parameters: { arrival: state.arrival },
    },
    'CSVWithNames',
  )
  await writeWhole(path, state, (part) => pipeline(rows, createWriteStream(part)))
  return path
}
