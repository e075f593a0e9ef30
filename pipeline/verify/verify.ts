import { setTimeout as sleep } from 'node:timers/promises'
import type { Profile } from '../../schemas/settings/profile.js'
import type { Folders, PipelineContext } from '../context.js'
import { createLedger } from '../ledger/ledger.js'
import { subtractQuantities } from '../ledger/sums.js'
import { batchesOf } from '../store/batches.js'
import type { Store } from '../store/clickhouse.js'
import { literal, sql } from '../store/sql.js'
import { compareDays } from '../usage/days/compare.js'
import { verifyKeptFiles } from './archive.js'
import { findAlteredChunks } from './chunks.js'
import { countRowsByArrival, type Difference, findLedgerGaps } from './count.js'
import { type Damage, recordDamage, subjectOn } from './damage.js'
import { remedyOf } from './remedies.js'

export interface VerifyContext {
  readonly store: Store
  readonly folders: Pick<Folders, 'archive' | 'quarantine' | 'landing'>
  /** The id of their data folder. */
  readonly machine: string
  readonly profile: Pick<Profile, 'retention'>
  readonly now: () => Date
}

export interface VerifyOptions {
  /** Also hash every kept file, which reads all of their bytes. */
  readonly files: boolean
  /** Also compare the stored days with their reads, which adds up all of them; if not said, true. */
  readonly days?: boolean
  /** Between two looks at a difference. */
  readonly lookMs?: number
}

export interface Verification {
  readonly arrivals: number
  readonly rows: number
  /** Undefined if kept files were not hashed. */
  readonly files: number | undefined
  /** Published files that are not in the archive: no damage, but they cannot be repaired. */
  readonly absent: number
  readonly damage: readonly Damage[]
}

/** A difference counts if it is found each time. */
const looks = 3
const lookMsDefault = 2_000
const reportedMax = 100
/** Arrivals of one statement; the engine reads 262,144 characters at most. */
const arrivalsMax = 10_000
const dayMs = 86_400_000

/**
 * Compares what is stored with the ledger, and stores the result: rows and control totals of each
 * arrival, detached parts, gaps in the ledger, and the bytes of kept files. Changes nothing else.
 */
export async function verify(
  context: VerifyContext,
  { files, days = true, lookMs = lookMsDefault }: VerifyOptions,
): Promise<Verification> {
  const { store, folders, machine, now } = context
  const counted = await countRowsByArrival(store)
  const differences = await lookAgain(store, counted.differences, lookMs)
  const damage = [
    ...(await describeRows(store, differences)),
    ...(await findLedgerGaps(store)).map(({ subject, ...gap }) => toDamage('ledger', subject, gap)),
    ...(await findDetachedParts(store)),
    ...(days ? await describeDays(store, lookMs) : []),
  ]
  const { arrivals, rows } = counted
  const chunks = await findAlteredChunks(createLedger(store, now), folders.landing)
  for (const { arrival, path } of chunks) {
    const detail = `${path} was altered on disk; it is landed again before it is loaded`
    damage.push(toDamage('chunk', subjectOn(machine, path), { arrival, detail }))
  }
  const kinds = ['rows', 'ledger', 'part', 'chunk', ...(days ? (['days'] as const) : [])] as const
  await recordDamage(store, { covered: 'rows', kinds, rows, damage, machine }, now())
  if (!files) return { arrivals, rows, files: undefined, absent: 0, damage }
  const kept = await verifyFiles(context)
  return { arrivals, rows, ...kept, damage: [...damage, ...kept.damage] }
}

type KeptVerification = Pick<Verification, 'files' | 'absent' | 'damage'>

/** Hashes the kept files of this machine, and stores the result. */
async function verifyFiles(context: VerifyContext): Promise<KeptVerification> {
  const { store, machine, profile, now } = context
  const since = new Date(now().getTime() - profile.retention.archiveDays * dayMs)
  const { files, absent, altered } = await verifyKeptFiles(context, since)
  const damage = altered.map(({ arrival, path }) => {
    const detail = `${path} is not the file that came in: its sha256 differs from the ledger`
    return toDamage('archive', subjectOn(machine, path), { arrival, detail })
  })
  const found = { covered: 'files', kinds: ['archive'], rows: 0, damage, machine } as const
  await recordDamage(store, found, now())
  return { files, absent, damage }
}

type ReportContext = VerifyContext & Pick<PipelineContext, 'log' | 'notify'>

/** Verifies as a job, which writes what it finds to the log and the terminal. */
export async function verifyAndReport(
  context: ReportContext,
  options: VerifyOptions,
): Promise<void> {
  report(context, (await verify(context, options)).damage)
}

/** The part for the disk, which each machine runs for its own. */
export async function verifyMachine(context: ReportContext): Promise<void> {
  report(context, (await verifyFiles(context)).damage)
}

function report(context: ReportContext, damage: readonly Damage[]): void {
  for (const { kind, arrival, rows, detail } of damage.slice(0, reportedMax)) {
    context.log.error({ kind, arrival, rows }, detail)
  }
  if (damage.length === 0) return
  const more = damage.length === 1 ? '' : `, and ${damage.length - 1} more`
  context.notify(`${damage[0]?.detail}${more}; run tieline verify`)
}

/** What only a moment showed, such as a file that was published meanwhile, is not a difference. */
async function lookAgain(
  store: Store,
  first: readonly Difference[],
  lookMs: number,
): Promise<readonly Difference[]> {
  let left = first
  for (let look = 1; look < looks && left.length > 0; look++) {
    await sleep(lookMs)
    const found: Difference[] = []
    for (const batch of batchesOf(left, arrivalsMax)) {
      const only = batch.map(({ arrival }) => arrival)
      found.push(...(await countRowsByArrival(store, only)).differences)
    }
    left = found
  }
  return left
}

/** A file that is published meanwhile changes reads and stored days one after the other. */
async function describeDays(store: Store, lookMs: number): Promise<readonly Damage[]> {
  let left = await compareDays(store)
  for (let look = 1; look < looks && left.length > 0; look++) {
    await sleep(lookMs)
    left = await compareDays(store)
  }
  return left.map(({ day, meters }) => {
    const detail = `the stored sums of ${meters} meters on ${day} differ from their reads; run tieline repair`
    return toDamage('days', day, { rows: meters, detail })
  })
}

async function describeRows(
  store: Store,
  differences: readonly Difference[],
): Promise<readonly Damage[]> {
  const names = new Map<number, string>()
  for (const batch of batchesOf(differences, arrivalsMax)) {
    const arrivals = literal(batch.map(({ arrival }) => arrival))
    const named = await store.rows<{ arrival: number; name: string }>({
      sql: sql`SELECT arrival, name FROM arrival WHERE arrival IN ${arrivals}`,
    })
    for (const { arrival, name } of named) names.set(arrival, name)
  }
  return differences.map(({ arrival, table, expected, stored }) => {
    const rows = expected.rows - stored.rows
    const quantity = subtractQuantities(expected.quantity, stored.quantity)
    const file = `${names.get(arrival) ?? 'a file'} (arrival ${arrival})`
    const detail =
      rows === 0
        ? `${table} has all ${stored.rows} rows of ${file}, but their control total is ${stored.quantity} instead of ${expected.quantity}`
        : `${rows} of ${expected.rows} rows of ${file} are missing from ${table}`
    return toDamage('rows', `arrival ${arrival}`, { arrival, rows, quantity, detail })
  })
}

/** Parts that the engine set aside because it cannot read them; it only says so here. */
async function findDetachedParts(store: Store): Promise<readonly Damage[]> {
  const parts = await store.rows<{ part: string; of: string; path: string; why: string }>({
    sql: sql`SELECT concat(table, '/', name) AS part, any(table) AS of, any(path) AS path,
        any(assumeNotNull(reason)) AS why
      FROM system.detached_parts
      WHERE database = currentDatabase() AND reason LIKE '%broken%' AND NOT match(table, '^staging_')
      GROUP BY part ORDER BY part`,
  })
  return parts.map(({ part, of, path, why }) => {
    const remedy = remedyOf({ table: of, path })
    const detail = `the engine cannot read a part and has set it aside: ${part} (${why}); ${remedy}`
    return toDamage('part', part, { detail })
  })
}

function toDamage(
  kind: Damage['kind'],
  subject: string,
  more: Pick<Damage, 'detail'> & Partial<Damage>,
): Damage {
  return { kind, subject, arrival: 0, rows: 0, quantity: '0', ...more }
}
