import type { Profile } from '../../schemas/settings/profile.js'
import type { Zone } from '../../schemas/time/zone.js'
import type { Store } from '../store/clickhouse.js'
import type { RunTables } from './tables.js'

/** What bills are computed with; a `PipelineContext` is one. */
export interface BillContext {
  readonly store: Store
  readonly profile: Profile
  readonly zone: Zone
  readonly now: () => Date
}

export interface BillRequest {
  readonly cycleId: string
  /** First day of the period; without one the latest that has ended. */
  readonly start?: string
  /** Reads are taken as they were known then. */
  readonly asOf?: Date
}

/** The run of one cycle's period. */
export interface CycleRun {
  readonly run: string
  readonly cycleId: string
  /** The file of the period. */
  readonly fileId: string
}

/** Runs of cycles whose periods have the same days, and what they are computed in together. */
export interface BillRuns {
  readonly request: Pick<BillRequest, 'asOf'>
  /** Local days, both inclusive. */
  readonly period: { readonly first: string; readonly last: string }
  readonly runs: readonly CycleRun[]
  readonly tables: RunTables
}
