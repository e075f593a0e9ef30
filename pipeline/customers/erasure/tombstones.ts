import type { Store } from '../../store/clickhouse.js'
import { sql } from '../../store/sql.js'

/** A termination whose days of grace are over. */
export interface DueTermination {
  readonly accountNumber: string
  /** Empty where all meters of the account are meant. */
  readonly meterId: string
  /** Empty where all premises of the account are meant. */
  readonly externalSiteId: string
  readonly terminatedOn: string
  /** `2026-03-01 05:00:00`, UTC. */
  readonly endedAt: string
}

/**
 * Meter, premise, start and end of a time in which the account had the reads that name none, both its end
 * where it never had, and the number of its facts that bear on the meter, 0 from the second such time on.
 */
export type HeldInterval = readonly [string, string, string, string, number]

/** Stored as the rank: 1, 2 and 3. */
const erasureStates = ['started', 'erased', 'finished'] as const
export type ErasureState = (typeof erasureStates)[number]

export interface Erasure extends DueTermination {
  readonly stretches: readonly HeldInterval[]
  readonly startedAt: Date
  readonly state: ErasureState
  /** Undefined until then. */
  readonly erasedAt: Date | undefined
  readonly counts: Readonly<Record<string, number>>
}

export async function recordErasures(store: Store, erasures: readonly Erasure[]): Promise<void> {
  await store.insert(
    'erasure',
    erasures.map((one) => ({
      account_number: one.accountNumber,
      meter_id: one.meterId,
      external_site_id: one.externalSiteId,
      terminated_on: one.terminatedOn,
      ended_at: one.endedAt,
      stretches: one.stretches.map(([meter, site, from, to, weight]) => {
        return { meter_id: meter, external_site_id: site, held_from: from, held_to: to, weight }
      }),
      counts: one.counts,
      started_at: one.startedAt.toISOString(),
      erased_at: one.erasedAt?.toISOString() ?? null,
      rank: erasureStates.indexOf(one.state) + 1,
    })),
  )
}

interface ErasureRow {
  readonly account_number: string
  readonly meter_id: string
  readonly external_site_id: string
  readonly terminated_on: string
  readonly ended: string
  readonly stretches: readonly HeldInterval[]
  readonly started_ms: string
  readonly erased_ms: string
  readonly counts: Readonly<Record<string, string>>
  readonly rank: number
}

/** Those that are not finished. */
export async function openErasures(store: Store): Promise<readonly Erasure[]> {
  const rows = await store.rows<ErasureRow>({
    sql: sql`SELECT account_number, meter_id, external_site_id, toString(terminated_on) AS terminated_on,
        toString(ended_at) AS ended, stretches, counts, rank,
        toString(toUnixTimestamp64Milli(started_at)) AS started_ms,
        toString(toUnixTimestamp64Milli(ifNull(erased_at, started_at))) AS erased_ms
      FROM erasure FINAL WHERE rank < 3`,
    settings: { output_format_json_named_tuples_as_objects: 0 },
  })
  return rows.map((row) => ({
    accountNumber: row.account_number,
    meterId: row.meter_id,
    externalSiteId: row.external_site_id,
    terminatedOn: row.terminated_on,
    endedAt: row.ended,
    stretches: row.stretches,
    startedAt: new Date(Number(row.started_ms)),
    state: erasureStates[row.rank - 1] as ErasureState,
    erasedAt: row.rank === 1 ? undefined : new Date(Number(row.erased_ms)),
    counts: Object.fromEntries(Object.entries(row.counts).map(([name, n]) => [name, Number(n)])),
  }))
}
