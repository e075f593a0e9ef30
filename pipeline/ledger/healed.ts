import type { Store } from '../store/clickhouse.js'
import { createCodec, dateTime, plain, type Row } from '../store/columns.js'
import { deleteFrom } from '../store/replicas.js'
import { sql } from '../store/sql.js'

/** Something that failed and works again without an operator. */
export interface Healed {
  /** A part of Tieline that was restarted, or an outage of a server, a source or a system. */
  readonly kind: 'restart' | 'server' | 'source' | 'system'
  readonly subject: string
  readonly beganAt: Date
  readonly healedAt: Date
  /** How often it failed in this time. */
  readonly times: number
  readonly code: string
  readonly detail: string
}

export type Outage = Omit<Healed, 'times'>

/** Days for which the table keeps what healed. */
const healedDays = 7

const dayMs = 86_400_000
/** A subject that fails again within this time has one row, so that one that flaps has not thousands. */
const sameMs = 300_000

const codec = createCodec<Healed>({
  kind: plain(),
  subject: plain(),
  beganAt: dateTime,
  healedAt: dateTime,
  times: plain(),
  code: plain(),
  detail: plain(),
})

/**
 * Records what healed; it continues the row of the same subject if that healed minutes before. Where a
 * clock was set back during the outage, it began when it ended.
 */
export async function recordHealed(store: Store, ended: Outage): Promise<void> {
  const beganAt = new Date(Math.min(ended.beganAt.getTime(), ended.healedAt.getTime()))
  const outage = { ...ended, beganAt }
  const before = await readBefore(store, outage)
  const row =
    before === undefined
      ? { ...outage, times: 1 }
      : {
          ...outage,
          beganAt: before.beganAt,
          healedAt: new Date(Math.max(outage.healedAt.getTime(), before.healedAt.getTime())),
          times: before.times + (outage.beganAt > before.healedAt ? 1 : 0),
        }
  await store.insert('healed', [codec.toRow(row)])
}

/** The row that an outage continues; a second process may have seen the same one. */
async function readBefore(
  store: Store,
  { kind, subject, beganAt, healedAt }: Outage,
): Promise<Healed | undefined> {
  const [row] = await store.rows<Row>({
    sql: sql`SELECT * FROM healed FINAL WHERE kind = ${kind} AND subject = ${subject}
      AND healed_at >= fromUnixTimestamp64Milli(${beganAt.getTime() - sameMs})
      AND began_at <= fromUnixTimestamp64Milli(${healedAt.getTime()})
      ORDER BY healed_at DESC LIMIT 1`,
  })
  return row && codec.fromRow(row)
}

/** What healed in the last days, the latest first. */
export async function readHealed(store: Store, now: Date): Promise<readonly Healed[]> {
  const rows = await store.rows<Row>({
    sql: sql`SELECT * FROM healed FINAL
      WHERE healed_at >= fromUnixTimestamp64Milli(${oldest(now)})
      ORDER BY healed_at DESC, kind, subject LIMIT ${shownMax}`,
  })
  return rows.map(codec.fromRow)
}

const shownMax = 50

/** Deletes what healed before the last days. */
export async function forgetHealed(store: Store, now: Date): Promise<void> {
  const old = sql`healed_at < fromUnixTimestamp64Milli(${oldest(now)})`
  const [found] = await store.rows({ sql: sql`SELECT 1 FROM healed WHERE ${old} LIMIT 1` })
  if (found !== undefined) await deleteFrom(store, 'healed', old)
}

function oldest(now: Date): number {
  return now.getTime() - healedDays * dayMs
}
