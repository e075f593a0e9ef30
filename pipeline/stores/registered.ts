import type { Statement } from './clickhouse.js'

/**
 * The meters of registered customers as a subquery, for every place that tells registered rows from
 * others: `meter_id IN (${registeredMeters})`.
 */
export const registeredMeters = 'SELECT meter_id FROM tenancy'

/** Rows and quantity in a table of a file's reads that are of no registered customer's meter. */
export function countUnregistered(reads: string): Statement {
  return {
    sql: `SELECT toString(count()) AS rows, toString(sum(quantity)) AS quantity
      FROM ${reads} WHERE meter_id NOT IN (${registeredMeters})`,
  }
}
