import type { Statement } from './clickhouse.js'
import { createReads } from './staging.js'

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

/** Copies the rows of registered customers' meters from one table of reads into another. */
export function keepRegistered(from: string, to: string): readonly Statement[] {
  return [
    createReads(to, 'CREATE OR REPLACE TABLE'),
    {
      sql: `INSERT INTO ${to} SELECT * FROM ${from} WHERE meter_id IN (${registeredMeters})`,
      settings: { optimize_on_insert: 0 },
    },
  ]
}
