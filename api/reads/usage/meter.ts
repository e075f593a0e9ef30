import {
  anyUnknown,
  holdsWhere,
  type OwnHold,
  type RegisteredUnit,
} from '../../../pipeline/store/own/holds.js'
import { sql } from '../../../pipeline/store/sql.js'
import { merge, type Span } from '../range.js'
import type { ReadSource } from '../source.js'
import type { Units } from './rows.js'

/** A meter as one customer has it. */
export interface OwnMeter {
  /** Everything published up to this number is visible to later statements. */
  readonly publishedSeq: number
  /** The stretches in which its reads are his. */
  readonly holds: readonly OwnHold[]
  /** When his reads are expected: from the first read of each account to its end. */
  readonly expected: readonly Span[]
  /** When reads may have been his: where they are expected, and where he is shown those of another account. */
  readonly shown: readonly Span[]
  /** Its billing cycles while he had it, in order of time; the first holds for all time before. */
  readonly cycles: readonly HeldCycle[]
  readonly registered: RegisteredUnit | undefined
}

/** A billing cycle, and since when it holds in epoch seconds. */
export interface HeldCycle {
  readonly from: number
  readonly cycle: string
}

/** A tenancy of the meter as the client has it. */
interface Tenancy {
  readonly seq: string
  readonly site: string
  readonly account: string
  /** Whether the account is, or was last, the client's. */
  readonly isOwn: boolean
  readonly ownHolds: readonly OwnHold[]
  readonly validFrom: number
  readonly validTo: number
  readonly cycles: readonly HeldCycle[]
  /** Registered units; empty where none is given. */
  readonly units: readonly string[]
  /** Of the whole meter: the start of the first read of each account. */
  readonly firsts: readonly {
    readonly site: string
    readonly account: string
    readonly at: number
  }[]
}

/**
 * The meter of a customer by decision 11; undefined if he never had it, and if it does not exist: the
 * same statement finds neither. Under an account that no client has the first read of any counts.
 */
export async function readOwnMeter(
  source: ReadSource,
  units: Units,
  { clientId, meterId }: { readonly clientId: string; readonly meterId: string },
): Promise<OwnMeter | undefined> {
  const all = await source.rows<Tenancy>({
    sql: sql`SELECT (SELECT max(published_seq) FROM publication) AS seq, external_site_id AS site, account_number AS account, has(client_ids, ${clientId}) AS isOwn,
        ${holdsWhere(sql`has(h.4, ${clientId})`)} AS ownHolds,
        toUnixTimestamp(ifNull(valid_from, toDateTime(0, 'UTC'))) AS validFrom, toUnixTimestamp(ifNull(valid_to, toDateTime(4294967295, 'UTC'))) AS validTo,
        CAST(arrayMap(c -> (toUnixTimestamp(c.1), c.3), codes), 'Array(Tuple(from UInt32, cycle String))') AS cycles, arrayPushBack(codes.4, unit_of_measure) AS units,
        (SELECT CAST(groupArray((external_site_id, account_number, first)), 'Array(Tuple(site String, account String, at UInt32))')
          FROM
          (
            SELECT external_site_id, account_number, toUnixTimestamp(min(first_read)) AS first
            FROM account_meter WHERE meter_id = ${meterId} GROUP BY external_site_id, account_number
          )) AS firsts
      FROM tenancy FINAL WHERE meter_id = ${meterId}`,
  })
  const own = all.filter(({ isOwn, ownHolds }) => isOwn || ownHolds.length > 0)
  const [some] = own
  if (some === undefined) return undefined
  const holds = own.flatMap(({ ownHolds }) => ownHolds)
  const expected = holds.map((hold): Span => {
    const firsts = some.firsts.filter(
      ({ site, account }) =>
        site === hold.site && (account === hold.account || hold.account === anyUnknown),
    )
    const first = Math.min(...firsts.map(({ at }) => at))
    return [Math.max(hold.from, first), hold.to]
  })
  const usual: readonly string[] = ['', units.Electric, units.Gas]
  const isUsual = all.every((tenancy) => tenancy.units.every((unit) => usual.includes(unit)))
  return {
    publishedSeq: Number(some.seq),
    holds: holds.filter(({ from, to }) => from < to),
    expected: merge(expected.filter(([start, end]) => start < end)),
    shown: merge([...expected, ...lentTo(own)].filter(([start, end]) => start < end)),
    cycles: own.flatMap(cyclesOf).sort((a, b) => a.from - b.from),
    registered: isUsual ? undefined : await readUnit(source, meterId),
  }
}

/** The stretches in which a client is shown reads of an account of somebody else, as a landlord is. */
function lentTo(own: readonly Tenancy[]): readonly Span[] {
  const accounts = own.filter(({ isOwn }) => isOwn).map(({ account }) => account)
  return own
    .flatMap(({ ownHolds }) => ownHolds)
    .filter(({ account }) => !['', anyUnknown, ...accounts].includes(account))
    .map(({ from, to }) => [from, to])
}

/** As bills have them: the first cycle of a tenancy holds from its beginning, and none after its end. */
function cyclesOf({ validFrom, validTo, cycles }: Tenancy): readonly HeldCycle[] {
  return cycles
    .map(({ from, cycle }, at) => ({
      cycle,
      from: at === 0 ? validFrom : Math.max(validFrom, from),
    }))
    .filter(({ from }) => from < validTo)
}

async function readUnit(source: ReadSource, meterId: string): Promise<RegisteredUnit | undefined> {
  const [found] = await source.rows<RegisteredUnit>({
    sql: sql`SELECT unit, arrayMap(s -> (s.1, toUnixTimestamp(s.2), toUnixTimestamp(s.3), s.4), stretches) AS stretches
      FROM meter_unit WHERE meter_id = ${meterId}`,
  })
  return found
}
