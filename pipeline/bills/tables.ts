import type { Statement } from '../store/clickhouse.js'
import { id, type Sql, sql } from '../store/sql.js'

/** The tables that a run works in and drops when it has ended. */
export interface RunTables {
  /** The cycles that are computed together, and the run of each. */
  readonly cycles: string
  /** The tenancies to be billed, a row each. */
  readonly members: string
  /** Their energy by class. */
  readonly vectors: string
  /** The same with the projected rest of an open period, and the sums of last year that it uses. */
  readonly projected: string
  readonly lastYear: string
  /** The classes of each line of a plan. */
  readonly masks: string
  /** What was billed. */
  readonly billed: string
  /** The plans by which bills may have been computed otherwise. */
  readonly variants: string
  /** What bills come to when one cause after the other is neutralised. */
  readonly steps: string
}

export function tablesOf(run: string): RunTables {
  return {
    cycles: `bill_cycle_${run}`,
    members: `bill_member_${run}`,
    vectors: `bill_vector_${run}`,
    projected: `bill_projected_${run}`,
    lastYear: `bill_last_${run}`,
    masks: `bill_mask_${run}`,
    billed: `bill_billed_${run}`,
    variants: `bill_variant_${run}`,
    steps: `bill_step_${run}`,
  }
}

export function createCycles({ cycles }: RunTables): Statement {
  return {
    sql: sql`CREATE TABLE ${id(cycles)} (cycle_id String, run String) ENGINE = MergeTree ORDER BY cycle_id`,
  }
}

/** The runs of the members, for `IN`. */
export const runsOf = ({ cycles }: RunTables): Sql => sql`(SELECT run FROM ${id(cycles)})`
