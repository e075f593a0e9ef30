import type { Store } from '../../pipeline/store/clickhouse.js'
import { join, literal, sql } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'

/** Settings by which statements return other rows, with the values that those of Tieline are written for. */
const needed = {
  // What joins, comparisons and sums of nothing return.
  join_use_nulls: 0,
  join_default_strictness: 'ALL',
  transform_null_in: 0,
  group_by_use_nulls: 0,
  aggregate_functions_null_for_empty: 0,
  empty_result_for_aggregation_by_empty_set: 0,
  union_default_mode: '',
  // What names and types mean.
  prefer_column_name_to_alias: 0,
  cast_keep_nullable: 0,
  data_type_default_nullable: 0,
  enable_analyzer: 1,
  // What is left out without an error.
  read_overflow_mode: 'throw',
  result_overflow_mode: 'throw',
  timeout_overflow_mode: 'throw',
  group_by_overflow_mode: 'throw',
  sort_overflow_mode: 'throw',
  distinct_overflow_mode: 'throw',
  set_overflow_mode: 'throw',
  join_overflow_mode: 'throw',
  transfer_overflow_mode: 'throw',
  input_format_allow_errors_num: 0,
  input_format_allow_errors_ratio: 0,
  input_format_defaults_for_omitted_fields: 1,
  // What was true a moment ago.
  use_query_cache: 0,
} as const

/**
 * Throws `STORE_REFUSED` with a remedy if the user of a store has other settings, such as a company's own
 * defaults. They come in one row that no table has, since some of them cut off what they are asked for.
 */
export async function testSettings(store: Store): Promise<void> {
  const wanted = Object.entries(needed)
  const values = wanted.map(([name]) => sql`toString(getSetting(${literal(name)}))`)
  const [row] = await store.rows<{ found: readonly string[] }>({
    sql: sql`SELECT [${join(values, sql`, `)}] AS found`,
  })
  const pairs = wanted.flatMap(([name, value], at) => {
    const found = row?.found[at]?.replace('false', '0').replace('true', '1')
    const shown = (one: unknown) => `${name} = ${typeof value === 'number' ? one : `'${one}'`}`
    return found === String(value) ? [] : [{ has: shown(found), needs: shown(value) }]
  })
  if (pairs.length === 0) return
  const user = `user ${store.address.username}`
  const has = pairs.map((one) => one.has).join(', ')
  const needs = pairs.map((one) => one.needs).join(', ')
  throw new Fault(
    'STORE_REFUSED',
    `with the settings of ${user} statements would return other rows: ${has}; change its settings profile, or run ALTER USER \`${store.address.username}\` MODIFY SETTINGS ${needs}`,
  )
}
