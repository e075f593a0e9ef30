import type { Store } from '../../store/clickhouse.js'
import { literal, type Sql, sql } from '../../store/sql.js'
import { erasedRows } from '../registered.js'
import { gone } from './erasure.js'

/** A name at a place, for statements that the engine keeps: none contains an account number. */
const nameAt = (account: Sql) => sql`toString(sipHash64(${account}, meter_id, external_site_id))`

/** Of one statement, which repeats them seven times; the engine reads 262,144 characters at most. */
const namesMax = 1_000

/**
 * Removes the names of erased accounts from the tenancies of others, before or after them or in a bill.
 * Where an account lives on at another premise, its name stays there. A registration beside an erasure
 * may have stored a tenancy that it derived before, so all erasures are looked at.
 */
export async function forgetErased(store: Store): Promise<void> {
  const found = await store.rows<{ name: string }>({
    sql: sql`SELECT DISTINCT ${nameAt(sql`named`)} AS name
      FROM (SELECT meter_id, external_site_id, arrayJoin(arrayConcat(
          [previous_account_number, next_account_number],
          arrayFilter(hold -> hold.5, holds).1)) AS named
        FROM tenancy)
      WHERE named != '' AND ${erasedRows(gone, { columns: ['meter_id', 'external_site_id'], account: sql`named` })}`,
  })
  for (let at = 0; at < found.length; at += namesMax) {
    const names = found.slice(at, at + namesMax).map(({ name }) => name)
    await forgetNames(store, names)
  }
}

async function forgetNames(store: Store, names: readonly string[]): Promise<void> {
  const isOne = (of: Sql) => sql`has(${literal(names)}, ${nameAt(of)})`
  const isBilled = sql`hold.5 AND ${isOne(sql`hold.1`)}`
  const [previous, next] = [sql`previous_account_number`, sql`next_account_number`]
  await store.command({
    sql: sql`ALTER TABLE tenancy UPDATE ${previous} = if(${isOne(previous)}, '', ${previous}),
        previous_client_ids = if(${isOne(previous)}, [], previous_client_ids),
        ${next} = if(${isOne(next)}, '', ${next}),
        holds = arrayFilter(hold -> NOT (${isBilled}), holds)
      WHERE ${isOne(previous)} OR ${isOne(next)} OR arrayExists(hold -> ${isBilled}, holds)`,
    settings: { mutations_sync: 2 },
  })
}
