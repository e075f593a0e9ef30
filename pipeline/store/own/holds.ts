import type { Store } from '../clickhouse.js'
import { type Sql, sql } from '../sql.js'

/** What asks the store. */
export type RowSource = Pick<Store, 'rows'>

/** Local days, `YYYY-MM-DD`, both included. */
export interface DayRange {
  readonly from: string
  readonly to: string
}

/** A stretch of time in which reads of a meter belong to somebody; instants in epoch seconds. */
export interface OwnHold {
  readonly site: string
  /** The account that its reads carry; `anyUnknown` for those that no client has. */
  readonly account: string
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

/** The stretches of a tenancy for which a condition of `h` holds, as `OwnHold`s. */
export function holdsWhere(isOwn: Sql): Sql {
  return sql`CAST(arrayMap(h -> (external_site_id, h.1, toUnixTimestamp(h.2), toUnixTimestamp(h.3)), arrayFilter(h -> ${isOwn}, holds)),
    'Array(Tuple(site String, account String, from UInt32, to UInt32))')`
}

export const anyUnknown = '\0'

/** The registered unit of a meter where it is not the profile's: of all its reads, or by premise and time. */
export interface RegisteredUnit {
  readonly unit: string
  readonly stretches: readonly (readonly [site: string, from: number, to: number, unit: string])[]
}
