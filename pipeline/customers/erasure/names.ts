import { batchesOf } from '../../store/batches.js'
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
          arrayFilter(hold -> notEmpty(hold.5), holds).1)) AS named
        FROM tenancy)
      WHERE named != '' AND ${erasedRows(gone, { columns: ['meter_id', 'external_site_id'], account: sql`named` })}`,
  })
  for (const batch of batchesOf(found, namesMax)) {
    await forgetNames(
      store,
      batch.map(({ name }) => name),
    )
  }
}

async function forgetNames(store: Store, names: readonly string[]): Promise<void> {
  const isOne = (of: Sql) => sql`has(${literal(names)}, ${nameAt(of)})`
  const isBilled = sql`notEmpty(hold.5) AND ${isOne(sql`hold.1`)}`
  const [previous, next] = [sql`previous_account_number`, sql`next_account_number`]
  await store.command({
    sql: sql`ALTER TABLE tenancy UPDATE ${previous} = if(${isOne(previous)}, '', ${previous}),
        previous_client_ids = if(${isOne(previous)}, [], previous_client_ids),
        ${next} = if(${isOne(next)}, '', ${next}),
        holds = arrayFilter(hold -> NOT (${isBilled}), holds)
      WHERE ${isOne(previous)} OR ${isOne(next)} OR arrayExists(hold -> ${isBilled}, holds)`,
    settings: { mutations_sync: 1 },
  })
}

/** Of one statement, which repeats them four times. */
const clientsMax = 2_500

/**
 * Removes from the changes of some meters the clients who have nothing there any more. What tenancies of
 * erased accounts still say counts as gone, so that it can be called before these are deleted.
 */
export async function forgetClients(store: Store, meters: Sql): Promise<void> {
  const here = sql`meter_id IN (${meters})`
  const isGone = erasedRows(gone, { columns: ['meter_id', 'external_site_id'] })
  const found = await store.rows<{ name: string }>({
    sql: sql`SELECT DISTINCT toString(${clientAt}) AS name
      FROM (SELECT meter_id, arrayJoin(arrayConcat(client_ids_before, client_ids_after)) AS client
        FROM usage_change_row WHERE ${here})
      WHERE (meter_id, client) NOT IN (
        SELECT meter_id, arrayJoin(arrayConcat(client_ids, arrayFlatten(holds.4)))
        FROM tenancy FINAL WHERE ${here} AND NOT ${isGone})`,
  })
  for (const batch of batchesOf(found, clientsMax)) {
    const isOne = sql`${clientAt} IN ${literal(batch.map(({ name }) => BigInt(name)))}`
    const [before, after] = [sql`client_ids_before`, sql`client_ids_after`]
    const named = (clients: Sql) => sql`arrayExists(client -> ${isOne}, ${clients})`
    const kept = (clients: Sql) => sql`arrayFilter(client -> NOT (${isOne}), ${clients})`
    await store.command({
      sql: sql`ALTER TABLE usage_change_row UPDATE ${before} = ${kept(before)}, ${after} = ${kept(after)}
        WHERE ${named(before)} OR ${named(after)}`,
      settings: { mutations_sync: 1 },
    })
  }
}

const clientAt = sql`sipHash64(meter_id, client)`
