import type { Profile } from '../../schemas/settings/profile.js'
import type { Zone } from '../../schemas/time/zone.js'
import type { Store } from '../store/clickhouse.js'
import type { RunTables } from './members.js'
import type { Period } from './period.js'

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

/** A run of one period, with what it works in. */
export interface BillRun {
  readonly request: BillRequest
  readonly period: Period
  readonly run: string
  readonly tables: RunTables
}
