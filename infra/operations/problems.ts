import { createQueues, type Queues } from '../../pipeline/queues/bullmq.js'
import { passingFault, type Wait } from '../../pipeline/queues/wait.js'
import { createStore, type Store } from '../../pipeline/store/clickhouse.js'
import { type Fault, type FaultCode, faultCodes } from '../../schemas/fault.js'
import { printable } from '../commands/output/table.js'
import type { InUse } from '../commands/use-stack.js'

/** A file that did not come through, or not yet: what is the matter and what to do about it. */
export interface StuckFile {
  readonly arrival: number
  /** Its name; the number of its arrival while ClickHouse does not tell names. */
  readonly file: string
  readonly code: string
  readonly reason: string
  readonly todo: string
  /** When it was first held up, or quarantined; ISO 8601 in UTC. */
  readonly since: string
}

/** What keeps files from being published. */
export interface Problems {
  /** Files that go on by themselves once the cause has passed. */
  readonly waiting: readonly StuckFile[]
  /** The latest quarantined files, of whose name no later one was published. */
  readonly quarantined: readonly StuckFile[]
  /** What the servers said that do not answer; nothing is known then of what they hold. */
  readonly away: readonly Pick<Fault, 'code' | 'detail'>[]
}

const quarantinedMax = 20
const refusedMax = 500

/** Looks at the ledger and at the queues; what cannot be asked is named in `away`. */
export async function readProblems(
  stack: Pick<InUse, 'store' | 'redisUrl' | 'profile'>,
): Promise<Problems> {
  const store = createStore(stack.store)
  const queues = createQueues({ redisUrl: stack.redisUrl, prefix: stack.profile.database })
  try {
    return await readProblemsOf({ store, queues })
  } finally {
    await queues.close()
    await store.close()
  }
}

/** The same over connections that are there. */
export async function readProblemsOf({ store, queues }: Connected): Promise<Problems> {
  const away: Pick<Fault, 'code' | 'detail'>[] = []
  const unlessAway = async <T>(look: Promise<T>): Promise<T | undefined> => {
    try {
      return await look
    } catch (error) {
      const fault = passingFault(error)
      if (fault === undefined) throw error
      away.push({ code: fault.code, detail: fault.detail })
      return undefined
    }
  }
  const [files, waits] = await Promise.all([
    unlessAway(readFiles(store)),
    unlessAway(queues.waits()),
  ])
  const waiting = listWaiting(files?.unfinished ?? [], waits)
  return { waiting, quarantined: files?.quarantined ?? [], away }
}

interface Connected {
  readonly store: Store
  readonly queues: Pick<Queues, 'waits'>
}

interface Unfinished {
  readonly arrival: number
  readonly file: string
  readonly since: Date
  /** What is wrong with a file that waits for its rest, empty for any other. */
  readonly fault: string
  readonly reason: string
}

/** Names and reasons alone: the manifests of a year's files are a thousand times as much. */
async function readFiles(store: Store) {
  const [unfinished, quarantined] = await Promise.all([
    store.rows<Omit<Unfinished, 'since'> & { readonly since: string }>({
      sql: `SELECT arrival, name AS file, formatDateTime(arrived_at, '%FT%TZ') AS since,
          '' AS fault, '' AS reason
        FROM arrival WHERE arrival NOT IN (SELECT arrival FROM file_state)
        UNION ALL
        SELECT arrival, file_name, formatDateTime(received_at, '%FT%TZ'),
          if(status = 'waiting', fault, ''), reason
        FROM file_state FINAL WHERE settled_at IS NULL`,
    }),
    readQuarantined(store, { refusedMax, quarantinedMax }),
  ])
  return {
    unfinished: unfinished.map((one) => ({ ...one, since: new Date(one.since) })),
    quarantined,
  }
}

/**
 * The latest quarantined files, of whose name no later one was published, looked for among so many that
 * were quarantined last.
 */
export async function readQuarantined(
  store: Store,
  parameters: { readonly refusedMax: number; readonly quarantinedMax: number },
): Promise<readonly StuckFile[]> {
  const rows = await store.rows<Omit<StuckFile, 'todo'>>({
    sql: `WITH refused AS (
        SELECT arrival, file_name, fault, reason, coalesce(settled_at, received_at) AS at
        FROM file_state FINAL WHERE status = 'quarantined'
        ORDER BY arrival DESC LIMIT {refusedMax:UInt32}
      )
      SELECT arrival, r.file_name AS file, fault AS code, reason,
        formatDateTime(at, '%FT%TZ') AS since
      FROM refused AS r
      LEFT JOIN (
        SELECT file_name, max(arrival) AS latest FROM file_state FINAL
        WHERE status = 'published' AND file_name IN (SELECT file_name FROM refused)
        GROUP BY file_name
      ) AS p ON p.file_name = r.file_name
      WHERE arrival > p.latest
      ORDER BY arrival DESC LIMIT {quarantinedMax:UInt32}`,
    parameters,
  })
  return rows.map((row) => ({ ...row, todo: todoOf(row.code) }))
}

/** Without the queues' word (Redis is away) every file that has not ended waits for them. */
function listWaiting(
  unfinished: readonly Unfinished[],
  waits: readonly Wait[] | undefined,
): readonly StuckFile[] {
  const files = new Map(unfinished.map((one) => [one.arrival, one]))
  const held = new Map<number, StuckFile>()
  for (const { arrival, code, detail, since } of waits ?? []) {
    if (arrival === undefined) continue
    const file = files.get(arrival)?.file ?? `arrival ${arrival}`
    held.set(arrival, toStuck({ arrival, file, since, fault: code, reason: detail }))
  }
  for (const one of unfinished) {
    if (held.has(one.arrival)) continue
    if (one.fault !== '') held.set(one.arrival, toStuck(one))
    else if (waits === undefined) held.set(one.arrival, toStuck({ ...one, ...forRedis }))
  }
  return [...held.values()].sort((a, b) => a.arrival - b.arrival)
}

const forRedis = {
  fault: 'QUEUE_UNREACHABLE' satisfies FaultCode,
  reason: 'Redis is away; what comes next is queued again once it is back',
}

function toStuck({ arrival, file, since, fault, reason }: Unfinished): StuckFile {
  return { arrival, file, code: fault, reason, todo: todoOf(fault), since: since.toISOString() }
}

/** What a fault means and what to do about it, in the words of its table. */
export function todoOf(code: string): string {
  return code in faultCodes ? faultCodes[code as FaultCode].meaning : 'see the logs'
}

/** Files with what is the matter, when, and what to do, for a terminal. */
export function renderStuck(title: string, files: readonly StuckFile[]): readonly string[] {
  if (files.length === 0) return []
  const lines = files.flatMap(({ file, since, code, reason, todo }) => [
    `  ${file}  since ${since.slice(0, 19).replace('T', ' ')} UTC`,
    `    ${code}: ${reason}`,
    `    → ${todo}`,
  ])
  return [[title, ...lines.map(printable)].join('\n')]
}
