import { hostname } from 'node:os'
import type { PipelineContext } from './context.js'
import type { Store } from './store/clickhouse.js'
import { deleteFrom } from './store/replicas.js'
import { sql } from './store/sql.js'

/** How often a machine reports, with its sweep. */
export const reportMs = 30_000
/** A machine that has not reported for so long is away. */
const awaySeconds = (3 * reportMs) / 1_000

const memoryMs = 1_000

/** A data folder whose workers have not reported for a while, and what it is known to hold. */
export interface AwayMachine {
  readonly machine: string
  readonly host: string
  readonly seenAt: string
  /** Rejects files with rows of erased accounts. */
  readonly rejectsFiles: string
}

/** Reports that a worker runs on the data folder; the clock is the store's. */
export async function reportMachine({
  store,
  machine,
}: Pick<PipelineContext, 'store' | 'machine'>): Promise<void> {
  await store.insert('machine', [{ machine, host: hostname() }])
}

/** All data folders that workers have run on, the own one too. */
export async function knownMachines({
  store,
  machine,
}: Pick<PipelineContext, 'store' | 'machine'>): Promise<readonly string[]> {
  const rows = await store.rows<{ machine: string }>({
    sql: sql`SELECT DISTINCT machine FROM machine`,
  })
  return [...new Set([machine, ...rows.map((row) => row.machine)])]
}

/** Whether workers run on another data folder, which then loads the chunks that landed there. */
export async function runsElsewhere(
  context: Pick<PipelineContext, 'store' | 'machine'>,
  machine: string | undefined,
): Promise<boolean> {
  if (machine === undefined || machine === context.machine) return false
  const found = await context.store.rows({
    sql: sql`SELECT 1 FROM machine WHERE machine = ${machine}
      AND seen_at > now64(3) - toIntervalSecond(${awaySeconds}) LIMIT 1`,
  })
  return found.length > 0
}

/** `runsElsewhere` with a memory of a second: each job of another machine asks until that one takes it. */
export function createElsewhere(
  context: Pick<PipelineContext, 'store' | 'machine'>,
): (machine: string | undefined) => Promise<boolean> {
  const known = new Map<
    string | undefined,
    { readonly at: number; readonly found: Promise<boolean> }
  >()
  return (machine) => {
    const before = known.get(machine)
    if (before !== undefined && performance.now() - before.at < memoryMs) return before.found
    const found = runsElsewhere(context, machine)
    known.set(machine, { at: performance.now(), found })
    return found
  }
}

/** Machines that are away, or that have rejects files to rewrite. */
export async function machinesBehind(store: Store): Promise<readonly AwayMachine[]> {
  return store.rows<AwayMachine>({
    sql: sql`SELECT machine, m.host AS host, toString(toDateTime(m.seen_at, 'UTC')) AS seenAt,
        toString(r.files) AS rejectsFiles
      FROM (SELECT machine, host, seen_at FROM machine FINAL) AS m
      LEFT JOIN (SELECT machine, uniqExact(arrival) AS files FROM rejects_erasure FINAL
        WHERE NOT done GROUP BY machine) AS r USING (machine)
      WHERE m.seen_at < now64(3) - toIntervalSecond(${awaySeconds}) OR r.files > 0
      ORDER BY machine`,
  })
}

export async function hasReported(store: Store, machine: string): Promise<boolean> {
  const found = await store.rows({
    sql: sql`SELECT 1 FROM machine WHERE machine = ${machine} LIMIT 1`,
  })
  return found.length > 0
}

/** Forgets a machine whose disk is destroyed, and what it was to do. */
export async function forgetMachine(store: Store, machine: string): Promise<void> {
  for (const table of ['rejects_erasure', 'machine'])
    await deleteFrom(store, table, sql`machine = ${machine}`)
}
