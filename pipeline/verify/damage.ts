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

/** What a verification covered, and what it found. */
export interface Recorded {
  readonly covered: 'rows' | 'files'
  readonly kinds: readonly DamageKind[]
  readonly rows: number
  readonly damage: readonly Damage[]
}

/**
 * Stores the result of a verification in one insert. Damage keeps the time when it was first found,
 * unless it concerns more rows now: whoever dismissed it has not seen that. One of the same kinds that
 * is not found again is resolved.
 */
export async function recordDamage(store: Store, found: Recorded, now: Date): Promise<void> {
  const { covered, kinds, rows, damage } = found
  const before = new Map((await readDamage(store)).map((one) => [nameOf(one), one]))
  const names = new Set(damage.map(nameOf))
  const resolved = [...before.values()].filter((one) => {
    return kinds.includes(one.kind) && !names.has(nameOf(one))
  })
  const at = { open: true, verifiedAt: now }
  const run = { arrival: 0, rows, quantity: '0', detail: '', since: now, ...at }
  await insertLatest(store, 'verification', [
    { ...codec.toRow({ kind: 'rows', subject: covered, ...run }), kind: 'run' },
    ...damage.map((one) => {
      const known = before.get(nameOf(one))
      const since = known === undefined || one.rows > known.rows ? now : known.since
      return codec.toRow({ ...one, since, ...at })
    }),
    ...resolved.map((one) => codec.toRow({ ...one, ...at, open: false })),
  ])
}

function nameOf({ kind, subject }: Damage): string {
  return `${kind} ${subject}`
}
