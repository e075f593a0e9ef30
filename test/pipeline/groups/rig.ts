import { existsSync } from 'node:fs'
import { gather } from '../../../pipeline/groups/gather.js'
import { load } from '../../../pipeline/steps/load.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { type Sql, sql } from '../../../pipeline/store/sql.js'
import type { LineByHand } from '../by-hand.js'

export interface SmallFile {
  readonly name: string
  readonly rows: readonly string[]
}

/** A job that the line queued, as far as these tests look at it. */
export interface Queued {
  readonly name: string
  readonly arrival: number
}

/** Remembers what the steps queue; loads are remembered by the line itself. */
export function rememberJobs(line: LineByHand): Queued[] {
  const queued: Queued[] = []
  const { add } = line.context.queues
  const own = line.context.queues as { -readonly [K in keyof typeof line.context.queues]: unknown }
  own.add = async (...job: Parameters<typeof add>) => {
    const [name, data] = job
    if ('arrival' in data) queued.push({ name, arrival: data.arrival as number })
    return add(...job)
  }
  own.addFlow = async ({ arrival }: { readonly arrival: number }) => {
    queued.push({ name: 'reconcile', arrival })
  }
  return queued
}

/** Runs what was queued, one after the other, until nothing is left. */
export async function runAll({ context, loads }: LineByHand, queued: Queued[]): Promise<void> {
  for (let job = queued.shift(); job !== undefined; job = queued.shift()) {
    const { name, arrival } = job
    if (name === 'receive') await receive(context, arrival)
    for (const task of loads.splice(0)) await load(context, task)
    if (name === 'reconcile') await reconcile(context, arrival)
    if (name === 'settle') await settle(context, arrival)
  }
}

/** Loads files that came together: as groups, or each by itself. */
export async function loadFiles(
  line: LineByHand,
  files: readonly SmallFile[],
  how: 'gathered' | 'one by one',
): Promise<void> {
  const queued = rememberJobs(line)
  const arrivals: number[] = []
  for (const { name, rows } of files) arrivals.push((await line.arrive(name, rows)).arrival)
  if (how === 'gathered') await gather(line.context, arrivals)
  else for (const arrival of arrivals) queued.push({ name: 'receive', arrival })
  await runAll(line, queued)
}

const times = ['received_at', 'published_at', 'settled_at', 'recorded_at']
const own = ['decision', 'attaches', 'group_id', 'rank', 'manifest', 'path']

/** Everything that loading has left, but for times and names of staging tables. */
export async function readAll({ context }: LineByHand): Promise<Readonly<Record<string, unknown>>> {
  const { store } = context
  const rows = (statement: Sql) => store.rows<Record<string, unknown>>({ sql: statement })
  const states = await rows(sql`SELECT * FROM file_state FINAL ORDER BY arrival`)
  const kept = states.map((row) => {
    const entries = Object.entries(row)
    return Object.fromEntries(entries.filter(([name]) => ![...times, ...own].includes(name)))
  })
  return {
    states: kept,
    reads: await rows(
      sql`SELECT * FROM usage_read FINAL ORDER BY meter_id, starts_at, seconds, version`,
    ),
    // Without the reads under a new length, which have the version of the row that a merge removes.
    doubled: await rows(sql`SELECT count() - uniqExact(version) AS rows FROM usage_read
        WHERE change = 0`),
    held: await rows(sql`SELECT * EXCEPT (held_at) FROM held_read FINAL ORDER BY version`),
    entries: await rows(sql`SELECT arrival, kind, cause, target, rows, quantity
      FROM published_rows FINAL ORDER BY arrival, kind, cause`),
    restated: await rows(sql`SELECT * FROM restatement ORDER BY new_version`),
    rejects: await rows(
      sql`SELECT DISTINCT arrival, line, code, detail FROM reject ORDER BY arrival, line`,
    ),
    accounts:
      await rows(sql`SELECT external_site_id, meter_id, account_number, min(first_read) AS first,
        max(last_read) AS last, min(arrival) AS named_by
      FROM account_meter GROUP BY ALL ORDER BY ALL`),
    numbers: await rows(sql`SELECT count() AS files, max(published_seq) AS last FROM publication`),
    receipts: states.map(({ file_name }) =>
      existsSync(`${context.folders.outbox}/${file_name}.receipt.json`),
    ),
    staging: await rows(sql`SELECT name FROM system.tables
      WHERE database = currentDatabase() AND startsWith(name, 'staging_') ORDER BY name`),
  }
}
