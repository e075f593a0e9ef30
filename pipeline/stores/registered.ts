import type { Statement } from './clickhouse.js'
import { stagingOf } from './staging.js'

/**
 * The meters of registered customers as a subquery, for every place that tells registered rows from
 * others: `meter_id IN (${registeredMeters})`.
 */
export const registeredMeters = 'SELECT meter_id FROM tenancy'

/** Rows and quantity in a file's staging that are of no registered customer's meter. */
export function countUnregistered(arrival: number): Statement {
  return {
    sql: `SELECT toString(count()) AS rows, toString(sum(quantity)) AS quantity
      FROM ${stagingOf(arrival).reads} WHERE meter_id NOT IN (${registeredMeters})`,
  }
}

/**
 * Takes these rows out of staging, before anything else is counted there; done when it returns. Run
 * again it takes out nothing, or the rows of nobody who has registered meanwhile.
 */
export function dropUnregistered(arrival: number): Statement {
  return {
    sql: `ALTER TABLE ${stagingOf(arrival).reads}
      DELETE WHERE meter_id NOT IN (${registeredMeters})`,
    settings: { mutations_sync: 2, allow_nondeterministic_mutations: 1 },
  }
}
