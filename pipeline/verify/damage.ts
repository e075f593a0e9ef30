import { toMicros } from '../ledger/sums.js'
import type { Store } from '../store/clickhouse.js'
import { createCodec, dateTime, integer, plain, type Row } from '../store/columns.js'
import { insertLatest } from '../store/latest.js'
import { sql } from '../store/sql.js'

/** What can be missing or damaged: see `verify`. */
export const damageKinds = ['rows', 'days', 'part', 'ledger', 'chunk', 'archive'] as const
export type DamageKind = (typeof damageKinds)[number]

/** Something that is missing or damaged. Quantities are decimals as text. */
export interface Damage {
  readonly kind: DamageKind
  /** What it concerns; with the kind its name. */
  readonly subject: string
  /** 0 if none. */
  readonly arrival: number
  /** Rows, or meters of a day, or numbers of the ledger. */
  readonly rows: number
  readonly quantity: string
  readonly detail: string
}

/** Damage that is stored and not resolved. */
export interface OpenDamage extends Damage {
  readonly since: Date
}

/** The latest verification, by what it covered: `rows` or `files`. */
export interface LastVerification {
  readonly covered: string
  readonly verifiedAt: Date
}

const codec = createCodec<OpenDamage & { readonly open: boolean; readonly verifiedAt: Date }>({
  kind: plain(),
  subject: plain(),
  arrival: plain(),
  rows: integer,
  quantity: plain(),
  detail: plain(),
  open: plain(),
  since: dateTime,
  verifiedAt: dateTime,
})

/** Damage that is not resolved, the one that concerns most rows first. */
export async function readDamage(store: Store): Promise<readonly OpenDamage[]> {
  const rows = await store.rows<Row>({
    sql: sql`SELECT * FROM verification FINAL WHERE open AND kind != 'run'
      ORDER BY verification.rows DESC, kind, subject`,
  })
  return rows.map(codec.fromRow)
}

export async function readLastVerifications(store: Store): Promise<readonly LastVerification[]> {
  const rows = await store.rows<Row>({
    sql: sql`SELECT * FROM verification FINAL WHERE kind = 'run' ORDER BY subject`,
  })
  return rows
    .map(codec.fromRow)
    .map(({ subject, verifiedAt }) => ({ covered: subject, verifiedAt }))
}

const overdueMs = 48 * 3_600_000

/**
 * Since when the verification of stored rows is overdue, which runs at each start and each night; undefined where
 * it is not, or never ran.
 */
export function overdueSince(last: readonly LastVerification[], now: Date): Date | undefined {
  const rows = last.find(({ covered }) => covered === 'rows')
  if (rows === undefined) return undefined
  const due = new Date(rows.verifiedAt.getTime() + overdueMs)
  return due < now ? due : undefined
}

/** What a verification covered, and what it found. */
export interface Recorded {
  readonly covered: 'rows' | 'files'
  readonly kinds: readonly DamageKind[]
  readonly rows: number
  readonly damage: readonly Damage[]
  /** The machine whose disk was looked at. */
  readonly machine: string
}

/** Kinds that are on the disk of one machine: `subjectOn` names it. */
const onDisk: readonly DamageKind[] = ['chunk', 'archive']

/** What a damaged file is called: two machines may have the same path. */
export function subjectOn(machine: string, path: string): string {
  return `${path} on ${machine}`
}

/**
 * Stores the result of a verification in one insert. Damage keeps the time when it was first found,
 * unless it concerns more rows now, or as many with another quantity: whoever dismissed it has not seen
 * that. One of the same kinds that is not found again is resolved, but not that of another machine's
 * disk.
 */
export async function recordDamage(store: Store, found: Recorded, now: Date): Promise<void> {
  const { covered, kinds, rows, damage, machine } = found
  const before = new Map((await readDamage(store)).map((one) => [nameOf(one), one]))
  const names = new Set(damage.map(nameOf))
  const resolved = [...before.values()].filter((one) => {
    const isSeen = !onDisk.includes(one.kind) || isOnDiskOf(machine, one)
    return kinds.includes(one.kind) && isSeen && !names.has(nameOf(one))
  })
  const at = { open: true, verifiedAt: now }
  const run = { arrival: 0, rows, quantity: '0', detail: '', since: now, ...at }
  await insertLatest(store, 'verification', [
    { ...codec.toRow({ kind: 'rows', subject: covered, ...run }), kind: 'run' },
    ...damage.map((one) => {
      const known = before.get(nameOf(one))
      const since = known === undefined || isWorse(one, known) ? now : known.since
      return codec.toRow({ ...one, since, ...at })
    }),
    ...resolved.map((one) => codec.toRow({ ...one, ...at, open: false })),
  ])
}

function isWorse(now: Damage, known: Damage): boolean {
  if (now.rows !== known.rows) return now.rows > known.rows
  return toMicros(now.quantity) !== toMicros(known.quantity)
}

/** Resolves the damage of a machine whose disk is destroyed: nobody looks there again. */
export async function resolveDamageOn(store: Store, machine: string, now: Date): Promise<void> {
  const gone = (await readDamage(store)).filter((one) => isOnDiskOf(machine, one))
  if (gone.length === 0) return
  const rows = gone.map((one) => codec.toRow({ ...one, open: false, verifiedAt: now }))
  await insertLatest(store, 'verification', rows)
}

function isOnDiskOf(machine: string, { kind, subject }: Damage): boolean {
  return onDisk.includes(kind) && subject.endsWith(subjectOn(machine, ''))
}

function nameOf({ kind, subject }: Damage): string {
  return `${kind} ${subject}`
}
