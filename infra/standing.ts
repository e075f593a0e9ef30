import { createQueues } from '../pipeline/queues/bullmq.js'
import { passingFault, type Wait } from '../pipeline/queues/wait.js'
import { createStore, type Store } from '../pipeline/stores/clickhouse.js'
import { createLedger } from '../pipeline/stores/ledger.js'
import { type Fault, type FaultCode, faultCodes } from '../schemas/fault.js'
import { printable } from './table.js'
import type { InUse } from './use-stack.js'

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
export interface Standing {
  /** Files that go on by themselves once the cause has passed. */
  readonly waiting: readonly StuckFile[]
  /** The latest quarantined files, of whose name no later one was published. */
  readonly quarantined: readonly StuckFile[]
  /** What the servers said that do not answer; nothing is known then of what they hold. */
  readonly away: readonly Pick<Fault, 'code' | 'detail'>[]
}

const quarantinedMax = 20

/** Looks at the ledger and at the queues; what cannot be asked is named in `away`. */
export async function readStanding(
  stack: Pick<InUse, 'store' | 'redisUrl' | 'profile'>,
): Promise<Standing> {
  const store = createStore(stack.store)
  const queues = createQueues({ redisUrl: stack.redisUrl, prefix: stack.profile.database })
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
  try {
    const [files, waits] = await Promise.all([
      unlessAway(readFiles(store)),
      unlessAway(queues.waits()),
    ])
    const waiting = listWaiting(files?.unfinished ?? [], waits)
    return { waiting, quarantined: files?.quarantined ?? [], away }
  } finally {
    await queues.close()
    await store.close()
  }
}

interface Unfinished {
  readonly arrival: number
  readonly file: string
  readonly since: Date
  /** What is wrong with a file that waits for its rest, empty for any other. */
  readonly fault: string
  readonly reason: string
}

async function readFiles(store: Store) {
  const { arrivals, states } = await createLedger(store, () => new Date()).unfinished()
  const unread = arrivals.map(({ arrival, name, arrivedAt }): Unfinished => {
    return { arrival, file: name, since: arrivedAt, fault: '', reason: '' }
  })
  const read = states.map((state): Unfinished => {
    const { arrival, fileName: file, receivedAt: since, reason } = state
    return { arrival, file, since, fault: state.status === 'waiting' ? state.fault : '', reason }
  })
  const quarantined = await readQuarantined(store, quarantinedMax)
  return { unfinished: [...unread, ...read], quarantined }
}

/** The latest quarantined files, of whose name no later one was published; so many at most. */
export async function readQuarantined(store: Store, max: number): Promise<readonly StuckFile[]> {
  const rows = await store.rows<Omit<StuckFile, 'todo'>>({
    sql: `SELECT arrival, file_name AS file, fault AS code, reason,
        formatDateTime(coalesce(settled_at, received_at), '%FT%TZ') AS since
      FROM file_load AS f
      LEFT JOIN (
        SELECT file_name, max(arrival) AS latest FROM file_load
        WHERE status = 'published' GROUP BY file_name
      ) AS p ON p.file_name = f.file_name
      WHERE status = 'quarantined' AND arrival > p.latest
      ORDER BY arrival DESC LIMIT {max:UInt32}`,
    parameters: { max },
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
function todoOf(code: string): string {
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
