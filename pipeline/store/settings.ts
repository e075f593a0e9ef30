import { randomUUID } from 'node:crypto'

/**
 * When rows count as stored: on the server that took them, or on a majority of the replicas of their
 * table. Without replicas both are the same.
 */
export type Durability = 'one' | 'majority'

/** An insert waits this long for a majority, then it has failed and is repeated. */
const quorumMsMax = 60_000

/**
 * A change waits for the replicas that are up, and fails where one is away (`onReplicas`). A replicated table
 * does not wait at all where only active replicas are asked for (3).
 */
export const durabilitySettings = {
  one: { lightweight_deletes_sync: '1' },
  majority: {
    insert_quorum: 'auto',
    insert_quorum_timeout: quorumMsMax,
    alter_sync: '2',
    replication_wait_for_inactive_replica_timeout: '0',
  },
} as const satisfies Readonly<Record<Durability, object>>

/**
 * `wait_end_of_query` delays the response until the statement has ended: a failure half way is an
 * error, never a shorter response, for streams too. A broken connection ends the stream with an error.
 */
export const settingsAlways = {
  async_insert: 0,
  wait_end_of_query: 1,
  // Proxies cut a connection that is silent for 60 s. In 10 minutes these are 14 headers of 200 bytes, which
  // fit into their 4 KB. The server adds the code of a later error, so that a 200 is then an error.
  send_progress_in_http_headers: 1,
  http_headers_progress_interval_ms: '45000',
  // Each new statement is compiled for up to 150 ms at its third run, which even large ones do not repay.
  compile_expressions: 0,
  compile_aggregate_expressions: 0,
  compile_sort_description: 0,
  // To derive comparisons from others took more than half of the analysis of a long statement, as that of bills.
  optimize_and_compare_chain: 0,
  // The profile of a user may have times, tuples and decimals look otherwise.
  date_time_output_format: 'simple',
  output_format_json_named_tuples_as_objects: 1,
  output_format_decimal_trailing_zeros: 0,
} as const

/**
 * Without a token of its own a replicated table drops an insert with the rows of an earlier one, although
 * these were deleted since. ClickHouse 26.7 ignores `insert_deduplicate = 0`, so every other insert has a random one.
 */
export const writeSettings = () => ({ insert_deduplication_token: randomUUID() })

/** JSON numbers are rounded beyond 2^53. Threads that format few rows cost more than the rows. */
export const rowSettings = {
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_decimals: 1,
  output_format_parallel_formatting: 0,
} as const
