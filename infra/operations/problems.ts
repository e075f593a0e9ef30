import { readDismissed } from '../../pipeline/ledger/dismissals.js'
import type { Queues } from '../../pipeline/queues/bullmq.js'
import { passingFault, type Wait } from '../../pipeline/queues/wait.js'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import { type OpenDamage, readDamage } from '../../pipeline/verify/damage.js'
import { isRepair } from '../../pipeline/verify/repaired.js'
import { type Fault, type FaultCode, faultCodes } from '../../schemas/fault.js'
import { printable, utcText } from '../commands/output/table.js'
import type { InUse } from '../commands/use-stack.js'
import { withQueues, withStore } from '../stack/connections.js'

/** A waiting or quarantined file, with the reason and the remedy. */
export interface StuckFile {
  /** Of the problem, for its dismissal. */
  readonly key: string
  /** 0 for the new files of a source, which have none yet. */
  readonly arrival: number
  /** Its name, or its arrival number while ClickHouse does not answer. */
  readonly file: string
  readonly code: string
  readonly reason: string
  readonly todo: string
  /** When it began to wait, or was quarantined; ISO 8601 in UTC. */
  readonly since: string
}

/** Damage of the verification; `since` is ISO 8601 in UTC. */
export interface Missing extends Omit<OpenDamage, 'since'> {
  readonly key: string
  readonly since: string
}

/** Open problems: why files are not published. */
export interface Problems {
  /** Files that resume automatically when the cause is removed. */
  readonly waiting: readonly StuckFile[]
  /** The latest quarantined files, of each name the last one, unless it was published later. */
  readonly quarantined: readonly StuckFile[]
  /** What is missing or damaged in the store, by the latest verification. */
  readonly missing: readonly Missing[]
  /** Faults of the servers that do not answer; their problems are unknown. */
  readonly away: readonly Pick<Fault, 'code' | 'detail'>[]
}

const quarantinedMax = 20
const refusedMax = 500

/** Reads the ledger and the queues; a server that does not answer is listed in `away`. */
export function readProblems(
  stack: Pick<InUse, 'store' | 'redisUrl' | 'profile'>,
): Promise<Problems> {
  return withStore(stack.store, (store) =>
    withQueues(stack, (queues) => readProblemsOf({ store, queues })),
  )
}

/** The same over existing connections. */
export async function readProblemsOf({ store, queues }: Connected): Promise<Problems> {
  const away: Pick<Fault, 'code' | 'detail'>[] = []
  const unlessAway = async <T>(result: Promise<T>): Promise<T | undefined> => {
    try {
      return await result
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
  const isOpen = ({ key, since }: StuckFile) => !files?.isDismissed({ key, since: new Date(since) })
  const waiting = listWaiting(files?.unfinished ?? [], waits).filter(isOpen)
  const { quarantined = [], missing = [] } = files ?? {}
  return { waiting, quarantined, missing, away }
}

/** The waits of jobs, except those whose files are all dismissed. Faults: the store's and the queues'. */
export async function readOpenWaits({ store, queues }: Connected): Promise<readonly Wait[]> {
  const [unfinished, waits, isDismissed] = await Promise.all([
    readUnfinished(store),
    queues.waits(),
    readDismissed(store),
  ])
  return waits.filter(({ arrival: number, source, since }) => {
    if (source !== undefined) return !isDismissed({ key: `waiting:source:${source}`, since })
    if (number === undefined) return true
    const files = filesOf(number, unfinished)
    return !files.every(({ arrival }) => isDismissed({ key: `waiting:${arrival}`, since }))
  })
}

interface Connected {
  readonly store: Store
  readonly queues: Pick<Queues, 'waits'>
}

interface Unfinished {
  readonly arrival: number
  /** Under which its jobs are queued: the arrival, or that of its group. */
  readonly number: number
  readonly file: string
  readonly since: Date
  /** The fault of a file that waits for the rest of its set, empty for others. */
  readonly fault: string
  readonly reason: string
}

/** Names and reasons only: the manifests of a year's files are a thousand times larger. */
async function readUnfinished(store: Store): Promise<readonly Unfinished[]> {
  const rows = await store.rows<Omit<Unfinished, 'since'> & { readonly since: string }>({
    sql: sql`SELECT arrival, arrival AS number, name AS file,
        formatDateTime(arrived_at, '%FT%TZ') AS since, '' AS fault, '' AS reason
      FROM arrival WHERE arrival NOT IN (SELECT arrival FROM file_state)
      UNION ALL
      SELECT arrival, if(group_id = 0, arrival, group_id), file_name,
        formatDateTime(received_at, '%FT%TZ'), if(status = 'waiting', fault, ''), reason
      FROM file_state FINAL WHERE settled_at IS NULL`,
  })
  return rows.map((one) => ({ ...one, since: new Date(one.since) }))
}

async function readFiles(store: Store) {
  const [unfinished, quarantined, missing, isDismissed] = await Promise.all([
    readUnfinished(store),
    readQuarantined(store, { refusedMax, quarantinedMax }),
    readOpenDamage(store),
    readDismissed(store),
  ])
  return {
    isDismissed,
    missing: missing.map((one) => ({ ...one, since: one.since.toISOString() })),
    unfinished,
    quarantined,
  }
}

/** What is missing or damaged and not dismissed. */
export async function readOpenDamage(store: Store) {
  const [damage, isDismissed] = await Promise.all([readDamage(store), readDismissed(store)])
  const keyed = damage.map((one) => ({ ...one, key: `damage:${one.kind}:${one.subject}` }))
  return keyed.filter((one) => !isDismissed(one))
}

/**
 * The latest quarantined files that are not dismissed; see `Problems`. A retry is a later arrival; a
 * repair only brings older bytes back, so it hides only an earlier repair.
 */
export async function readQuarantined(
  store: Store,
  max: { readonly refusedMax: number; readonly quarantinedMax: number },
): Promise<readonly StuckFile[]> {
  const rows = await store.rows<Omit<StuckFile, 'todo' | 'key'>>({
    sql: sql`WITH refused AS (
        SELECT arrival, file_name, fault, reason, coalesce(settled_at, received_at) AS at
        FROM file_state FINAL WHERE status = 'quarantined' AND concat('quarantined:', toString(arrival))
          NOT IN (SELECT subject FROM audit_log WHERE act = 'dismiss')
        ORDER BY arrival DESC LIMIT ${max.refusedMax}
      )
      SELECT arrival, r.file_name AS file, fault AS code, reason,
        formatDateTime(at, '%FT%TZ') AS since
      FROM refused AS r
      LEFT JOIN (
        SELECT file_name, max(arrival) AS latest, maxIf(arrival, NOT ${isRepair}) AS sent
        FROM file_state FINAL
        WHERE status IN ('published', 'quarantined') AND file_name IN (SELECT file_name FROM refused)
        GROUP BY file_name
      ) AS p ON p.file_name = r.file_name
      WHERE arrival >= if(${isRepair}, p.latest, p.sent)
      ORDER BY arrival DESC LIMIT ${max.quarantinedMax}`,
  })
  return rows.map((row) => {
    return { ...row, key: `quarantined:${row.arrival}`, todo: todoOf(row.code) }
  })
}

const nextFollows = 'the next one follows automatically'
/** How a discreet fault of the store begins: with the engine's name of an error, or that of a connection. */
const refusal = /^([A-Z0-9_]+(?: \(\d+\))?); in: /
const silence = /^ClickHouse did not answer \(([^()]+)\): /

/**
 * A reason in place of a detail that names a statement. A file waits until its next attempt succeeds, so
 * that a reason has to be true when ClickHouse answers again, too.
 */
function reasonOf({ code, detail }: Pick<Wait, 'code' | 'detail'>): string {
  if (code === 'STORE_BUSY') return `ClickHouse was busy at the last attempt; ${nextFollows}`
  if (code !== 'STORE_UNREACHABLE') return detail
  const refused = refusal.exec(detail)?.[1]
  if (refused !== undefined) {
    return `ClickHouse refused the last attempt with ${refused}; ${nextFollows}`
  }
  const cause = silence.exec(detail)?.[1]
  const why = cause === undefined ? '' : ` (${cause})`
  return `ClickHouse did not answer the last attempt${why}; ${nextFollows}`
}

/** Without an answer of the queues, every unfinished file waits for Redis. */
function listWaiting(
  unfinished: readonly Unfinished[],
  waits: readonly Wait[] | undefined,
): readonly StuckFile[] {
  const held = new Map<number, StuckFile>()
  const polls: StuckFile[] = []
  for (const wait of waits ?? []) {
    const { code: fault, since, source } = wait
    const reason = reasonOf(wait)
    if (source !== undefined) {
      const one = { arrival: 0, file: `new files of source ${source}`, since, fault, reason }
      polls.push({ ...toStuck(one), key: `waiting:source:${source}` })
    }
    if (wait.arrival === undefined) continue
    for (const { arrival, file } of filesOf(wait.arrival, unfinished)) {
      held.set(arrival, toStuck({ arrival, file, since, fault, reason }))
    }
  }
  for (const one of unfinished) {
    if (held.has(one.arrival)) continue
    if (one.fault !== '') held.set(one.arrival, toStuck(one))
    else if (waits === undefined) held.set(one.arrival, toStuck({ ...one, ...forRedis }))
  }
  return [...polls, ...[...held.values()].sort((a, b) => a.arrival - b.arrival)]
}

/** The files of a job: one, or those of a group. */
function filesOf(
  number: number,
  unfinished: readonly Unfinished[],
): readonly Pick<Unfinished, 'arrival' | 'file'>[] {
  const known = unfinished.filter((one) => one.number === number)
  return known.length > 0 ? known : [{ arrival: number, file: `arrival ${number}` }]
}

const forRedis = {
  fault: 'QUEUE_UNREACHABLE' satisfies FaultCode,
  reason: 'Redis does not answer; the next step is queued again when it is back',
}

function toStuck({ arrival, file, since, fault, reason }: Omit<Unfinished, 'number'>): StuckFile {
  const key = `waiting:${arrival}`
  return {
    key,
    arrival,
    file,
    code: fault,
    reason,
    todo: todoOf(fault),
    since: since.toISOString(),
  }
}

/** The meaning and remedy of a fault code. */
export function todoOf(code: string): string {
  return code in faultCodes ? faultCodes[code as FaultCode].meaning : 'See worker.log.'
}

/** Files with reason, time and remedy, for a terminal. */
export function renderStuck(title: string, files: readonly StuckFile[]): readonly string[] {
  if (files.length === 0) return []
  const lines = files.flatMap(({ file, since, code, reason, todo }) => [
    `  ${file}  since ${utcText(since)} UTC`,
    `    ${code}: ${reason}`,
    `    → ${todo}`,
  ])
  return [[title, ...lines.map(printable)].join('\n')]
}

const missingShown = 20

/** The remedy of everything that is missing. */
export const missingTodo =
  'Run tieline repair, or the command that a line names; restore the rest from a backup.'

/** What is missing in the store, for a terminal. */
export function renderMissing(missing: readonly Missing[]): readonly string[] {
  if (missing.length === 0) return []
  const lines = missing.slice(0, missingShown).map(({ detail, since }) => {
    return `  ${detail}  since ${utcText(since)} UTC`
  })
  const more = missing.length - lines.length
  const rest = more > 0 ? [`  and ${more} more; see tieline verify --json`] : []
  return [
    ['missing or damaged', ...lines, ...rest, `    → ${missingTodo}`].map(printable).join('\n'),
  ]
}
