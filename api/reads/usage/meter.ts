import { sql } from '../../../pipeline/store/sql.js'
import { merge, type Span } from '../range.js'
import type { ReadSource } from '../source.js'

/** A meter as one customer has it. */
export interface OwnMeter {
  /** Everything published up to this number is visible to later statements. */
  readonly publishedSeq: number
  /** When his reads are expected: from the first read of each account to its end. */
  readonly expected: readonly Span[]
  /** Billing cycles of the meter while he had it. */
  readonly cycles: readonly string[]
}

interface Held {
  readonly seq: string
  readonly start: number
  readonly end: number
  readonly cycles: readonly string[]
}

/**
 * The meter of a customer by decision 11; undefined if he never had it, and if it does not exist: the
 * same statement finds neither. Under an account that no client has (`\0`) the first read of any counts.
 */
export async function readOwnMeter(
  source: ReadSource,
  { clientId, meterId }: { readonly clientId: string; readonly meterId: string },
): Promise<OwnMeter | undefined> {
  const rows = await source.rows<Held>({
    sql: sql`SELECT (SELECT max(published_seq) FROM publication) AS seq,
        toUnixTimestamp(if(t.hold.1 = ${'\0'}, a.earliest, a.firsts[indexOf(a.accounts, t.hold.1)])) AS first,
        greatest(toUnixTimestamp(t.hold.2), first) AS start, if(first = 0, 0, toUnixTimestamp(t.hold.3)) AS end,
        arrayDistinct(t.codes.3) AS cycles
      FROM
      (
        SELECT external_site_id, codes, hold
        FROM tenancy FINAL LEFT ARRAY JOIN arrayFilter(h -> has(h.4, ${clientId}), holds) AS hold
        WHERE meter_id = ${meterId} AND (has(hold.4, ${clientId}) OR has(client_ids, ${clientId}))
      ) AS t
      LEFT JOIN
      (
        SELECT external_site_id, groupArray(account_number) AS accounts, groupArray(first_seen) AS firsts, min(first_seen) AS earliest
        FROM
        (
          SELECT external_site_id, account_number, min(first_read) AS first_seen
          FROM account_meter WHERE meter_id = ${meterId} GROUP BY external_site_id, account_number
        )
        GROUP BY external_site_id
      ) AS a ON a.external_site_id = t.external_site_id`,
  })
  const [some] = rows
  if (some === undefined) return undefined
  const spans = rows.flatMap(({ start, end }): Span[] => (start < end ? [[start, end]] : []))
  const cycles = [...new Set(rows.flatMap((row) => row.cycles))]
  return { publishedSeq: Number(some.seq), expected: merge(spans), cycles }
}
