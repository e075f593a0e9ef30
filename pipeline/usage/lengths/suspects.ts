import { randomInt } from 'node:crypto'
import { addDays, daySeconds } from '../../../schemas/time/zone.js'
import type { Store } from '../../store/clickhouse.js'
import { id, literal, type Sql, sql, typed } from '../../store/sql.js'
import { type Decision, derivedOf, dropTables } from '../../store/staging.js'
import { daySecondsOf, type Grid, irregularMeters } from '../irregular-meters.js'
import type { MeterDay, StoredLength } from './judge.js'
import { isProvisional } from './provisional.js'

/** A meter of a file that its shape alone does not settle. */
export interface Suspect {
  readonly meterId: string
  readonly days: readonly MeterDay[]
}

/** What is looked at. */
export interface Search {
  /** The staged rows. */
  readonly table: string
  readonly grid: Grid
  readonly allowed: readonly number[]
  /**
   * All meters of a file, or those that are not regular, as far as they do not have the length of the
   * sample; or the ones that a table of `withNamed` has, whatever their length.
   */
  readonly of: 'all' | 'irregular' | { readonly named: string }
  /** One of several parts of the meters. */
  readonly batch: number
  readonly batches: number
}

/**
 * The meters of which some rows do not have the length of the sample, or do not prove any. A day that
 * a meter fills evenly to nine tenths is settled here and comes without its starts.
 */
export async function findSuspects(
  store: Store,
  decision: Decision,
  search: Search,
): Promise<readonly Suspect[]> {
  const { table, grid, allowed, of, batch, batches } = search
  const isNamed = typeof of === 'object'
  const among = isNamed ? isAmong(of.named) : sql`meter_id IN (${irregularMeters(decision, grid)})`
  const meters = of === 'all' ? sql`` : sql`AND ${among}`
  const conditions = sql`cityHash64(meter_id) % ${literal(batches)} = ${literal(batch)} ${meters}`
  const wanted = isNamed ? sql`` : sql`HAVING countIf(full != ${grid.seconds}) > 0`
  const rows = await store.rows<{ meter_id: string; days: readonly [string, number, number[]][] }>({
    sql: sql`SELECT meter_id,
        arraySort(groupArray((toString(day), full, if(full = 0, starts, [])))) AS days
      FROM (
        SELECT meter_id, ${grid.day} AS day,
          arraySort(groupUniqArray(toUnixTimestamp(starts_at))) AS starts,
          arrayPopFront(arrayDifference(starts)) AS gaps, arrayMin(gaps) AS gap,
          if(gap IN ${literal(allowed.filter((length) => length !== daySeconds))}
              AND arrayAll(one -> one % gap = 0, gaps)
              AND length(starts) * gap * 10 >= 9 * ${daySecondsOf(sql`day`, grid)},
            toUInt32(gap), 0) AS full
        FROM ${id(table)} WHERE ${conditions}
        GROUP BY meter_id, day
      )
      GROUP BY meter_id ${wanted}`,
  })
  return rows.map(({ meter_id: meterId, days }) => ({
    meterId,
    days: days.map(([day, full, starts]) => ({ day, full, starts })),
  }))
}

/** A decision; of a file that comes in again with its first arrival. */
interface Deciding extends Decision {
  readonly repairs?: number | undefined
}

/** Days before the first day of a file, as far back as is looked at step by step. */
const lookBackDays = [1, 7, 31, 400, 50_000] as const

/**
 * The lengths that are stored for meters: on the days of the file and the day before each day by day,
 * and where that says nothing of a meter's first day, on the nearest day before, or else on the first day after.
 */
export async function storedLengths(
  store: Store,
  decision: Deciding,
  suspects: readonly Suspect[],
): Promise<ReadonlyMap<string, readonly StoredLength[]>> {
  const sparse = suspects.filter(({ days }) => days.some(({ full }) => full === 0))
  if (sparse.length === 0) return new Map()
  const meterIds = sparse.map(({ meterId }) => meterId)
  return withNamed(store, { decision, meterIds }, (named) =>
    lookForLengths(store, { decision, sparse, named }),
  )
}

interface LookingForLengths {
  readonly decision: Deciding
  readonly sparse: readonly Suspect[]
  readonly named: string
}

async function lookForLengths(
  store: Store,
  { decision, sparse, named }: LookingForLengths,
): Promise<ReadonlyMap<string, readonly StoredLength[]>> {
  const found = new Map<string, StoredLength[]>()
  const days = sparse.flatMap((meter) => meter.days.map(({ day }) => day)).sort()
  const [first = '', last = ''] = [days[0], days.at(-1)]
  const look = async (days: Days) => {
    for (const { meterId, ...stored } of await lengthsWithin(store, decision, { ...days, named })) {
      const known = found.get(meterId)
      if (known === undefined) found.set(meterId, [stored])
      else known.push(stored)
    }
  }
  let unknown = sparse
  for (const [step, back] of lookBackDays.entries()) {
    const from = daysBefore(first, back)
    const to = step === 0 ? last : daysBefore(first, (lookBackDays[step - 1] as number) + 1)
    await look({ from, to, only: step === 0 ? undefined : 'last' })
    unknown = unknown.filter(
      ({ meterId, days: [one] }) =>
        !found.get(meterId)?.some(({ day }) => day <= (one as MeterDay).day),
    )
    if (unknown.length === 0) return found
  }
  await look({ from: addDays(last, 1), to: lastDay, only: 'first' })
  return found
}

function daysBefore(day: string, days: number): string {
  const before = addDays(day, -days)
  return before < firstDay ? firstDay : before
}

/** The days that the store can hold. */
const firstDay = '1970-01-01'
const lastDay = '2149-06-06'

/** Meters of which the store is asked. */
interface Named {
  readonly decision: Decision
  readonly meterIds: readonly string[]
}

/**
 * Writes down the meters of which the store is asked while something is done, in a table of their own: of two with
 * one name the server that answers might have the other.
 */
export async function withNamed<T>(
  store: Store,
  { decision, meterIds }: Named,
  ask: (named: string) => Promise<T>,
): Promise<T> {
  const table = `${derivedOf(decision).sparse}_${randomInt(1, 2 ** 47)}`
  try {
    await store.command({
      sql: sql`CREATE TABLE ${id(table)} (meter_id String) ENGINE = MergeTree ORDER BY meter_id`,
    })
    await store.insert(
      table,
      meterIds.map((meterId) => ({ meter_id: meterId })),
    )
    return await ask(table)
  } finally {
    await dropTables(store, [table])
  }
}

/** The condition of these meters. */
export function isAmong(named: string): Sql {
  return sql`meter_id IN (SELECT meter_id FROM ${id(named)})`
}

interface Days {
  readonly from: string
  readonly to: string
  /** Only this day of each meter; all of them by default. */
  readonly only: 'first' | 'last' | undefined
}

const oneDay = {
  first: sql`ORDER BY local_day LIMIT 1 BY meter_id, isProvisional`,
  last: sql`ORDER BY local_day DESC LIMIT 1 BY meter_id, isProvisional`,
}

async function lengthsWithin(
  store: Store,
  decision: Deciding,
  { from, to, only, named: table }: Days & Pick<LookingForLengths, 'named'>,
): Promise<readonly (StoredLength & { readonly meterId: string })[]> {
  const named = isAmong(table)
  const rows = await store.rows<{
    meter_id: string
    at: string
    length: number
    isProvisional: boolean
    latest: number
    start: number
    starts: readonly number[]
  }>({
    sql: sql`SELECT meter_id, toString(local_day) AS at, min(seconds) AS length,
        ${isProvisional(named, decision.repairs)} AS isProvisional, max(arrival) AS latest,
        toUnixTimestamp(argMax(starts_at, arrival)) AS start,
        groupUniqArrayIf(toUnixTimestamp(starts_at), isProvisional) AS starts
      FROM usage_current
      WHERE local_day BETWEEN ${typed('Date', from)} AND ${typed('Date', to)}
        AND ${named}
        AND arrival != ${decision.arrival}
      GROUP BY meter_id, local_day, isProvisional
      ${only === undefined ? sql`` : oneDay[only]}`,
  })
  return rows.map(({ meter_id, at: day, length: seconds, latest, start, ...one }) => {
    return { meterId: meter_id, day, seconds, arrival: latest, startsAt: start, ...one }
  })
}
