import type { Store } from '../../pipeline/store/clickhouse.js'
import { id, join, literal, sql } from '../../pipeline/store/sql.js'
import { damageKinds, readLastVerifications } from '../../pipeline/verify/damage.js'
import { isRepair } from '../../pipeline/verify/repaired.js'
import { feedNames } from '../../schemas/feed.js'
import { outcomeNames } from '../../schemas/receipt.js'
import type { Profile } from '../../schemas/settings/profile.js'
import { readOpenDamage } from '../operations/problems.js'
import { type MetricSample, sample } from './registry.js'

/** Limits of each statement of a scrape or of the operations page: one thread, two seconds, 256 MiB. */
export const queryBounds = {
  max_execution_time: 2,
  max_threads: 1,
  max_memory_usage: 256 * 1024 * 1024,
} as const

const outcomes = [...outcomeNames, 'held'] as const

type Sums = Readonly<Record<`${'rows' | 'quantity'}_${(typeof outcomes)[number]}`, string>>

interface Group extends Sums {
  readonly status: string
  readonly feed: string
  readonly company: string
  readonly files: string
  readonly oldest: string
  readonly newest: string
}

const unfinished: readonly string[] = ['received', 'waiting', 'publishing']
const ended: readonly string[] = ['published', 'quarantined']
/** All states. Those without a file report 0, so that the first file in one is a change. */
const statuses = [...unfinished, ...ended, 'duplicate', 'replaced'] as const

/**
 * Files, rows, quantities and freshness, in one pass over the ledger. It has one row per arrival, some
 * 20,000 a year.
 */
export async function readLedger(
  store: Store,
  { companyCodes }: Pick<Profile, 'companyCodes'>,
): Promise<readonly MetricSample[]> {
  const groups = await store.rows<Group>({
    sql: sql`SELECT status,
        if(has(${feedNames}, feed), toString(feed), 'other') AS feed,
        if(has(${companyCodes}, company_code), toString(company_code), '') AS company,
        count() AS files, toUnixTimestamp(min(received_at)) AS oldest,
        toUnixTimestamp(maxIf(least(last_interval_end, received_at), last_interval_end IS NOT NULL)) AS newest,
        ${join(outcomes.map(sumsOf), sql`, `)}
      FROM (SELECT *, ${isRepair} AS repair FROM file_state FINAL)
      GROUP BY status, feed, company`,
    settings: queryBounds,
  })
  const [arrived] = await store.rows<Pick<Group, 'files' | 'oldest'>>({
    sql: sql`SELECT count() AS files, toUnixTimestamp(min(arrived_at)) AS oldest FROM arrival
      WHERE arrival NOT IN (SELECT arrival FROM file_state)`,
    settings: queryBounds,
  })
  return [
    sample('tieline_files', { status: 'arrived' }, Number(arrived?.files)),
    ...filesOf(groups),
    sample('tieline_oldest_file_seconds', {}, oldestSeconds(groups, arrived)),
    ...rowsOf(groups),
    ...freshnessOf(groups),
    ...(await readVerified(store)),
  ]
}

/** The result of the latest verification. */
async function readVerified(store: Store): Promise<readonly MetricSample[]> {
  const [damage, last] = await Promise.all([readOpenDamage(store), readLastVerifications(store)])
  const timeOf = (covered: string) => {
    return (last.find((one) => one.covered === covered)?.verifiedAt.getTime() ?? 0) / 1_000
  }
  return [
    ...damageKinds.map((kind) => {
      const found = damage.filter((one) => one.kind === kind).length
      return sample('tieline_damage', { kind }, found)
    }),
    ...['rows', 'files'].map((covered) =>
      sample('tieline_verified_timestamp_seconds', { covered }, timeOf(covered)),
    ),
  ]
}

/** A repair brings rows back that its first file has counted. */
function sumsOf(outcome: (typeof outcomes)[number]) {
  const [rows, quantity] = [id(`rows_${outcome}`), id(`quantity_${outcome}`)]
  return sql`sumIf(${rows}, NOT repair) AS ${rows}, sumIf(${quantity}, NOT repair) AS ${quantity}`
}

function filesOf(groups: readonly Group[]): readonly MetricSample[] {
  const files = sumBy(groups, ({ status }) => status, 'files')
  return statuses.map((status) => sample('tieline_files', { status }, files.get(status) ?? 0))
}

/** Files that were never received count from their arrival. */
function oldestSeconds(
  groups: readonly Group[],
  arrived: Pick<Group, 'files' | 'oldest'> | undefined,
): number {
  const open = groups.filter(({ status }) => unfinished.includes(status))
  const unread = Number(arrived?.files) > 0 ? [Number(arrived?.oldest)] : []
  const now = Date.now() / 1_000
  return now - Math.min(...open.map(({ oldest }) => Number(oldest)), ...unread, now)
}

/** A file that is not published has no accepted rows, whatever was counted during the load. */
function rowsOf(groups: readonly Group[]): readonly MetricSample[] {
  const settled = groups.filter(({ status }) => ended.includes(status))
  return outcomes.flatMap((outcome) => {
    const counted = settled.filter(({ status }) => outcome !== 'accepted' || status === 'published')
    const byFeed = (key: keyof Sums) => [...sumBy(counted, ({ feed }) => feed, key)]
    return [
      ...byFeed(`rows_${outcome}`).map(([feed, rows]) =>
        sample('tieline_rows', { feed, outcome }, rows),
      ),
      ...byFeed(`quantity_${outcome}`).map(([feed, quantity]) =>
        sample('tieline_quantity', { feed, outcome }, quantity),
      ),
    ]
  })
}

function freshnessOf(groups: readonly Group[]): readonly MetricSample[] {
  return groups
    .filter(({ status, company }) => status === 'published' && company !== '')
    .filter(({ newest }) => Number(newest) > 0)
    .map(({ company, feed, newest }) =>
      sample('tieline_newest_interval_timestamp_seconds', { company, feed }, Number(newest)),
    )
}

function sumBy(
  groups: readonly Group[],
  keyOf: (group: Group) => string,
  value: keyof Sums | 'files',
): ReadonlyMap<string, number> {
  const sums = new Map<string, number>()
  for (const group of groups) {
    const key = keyOf(group)
    sums.set(key, (sums.get(key) ?? 0) + Number(group[value]))
  }
  return sums
}

/** End of the newest interval of a cycle, seconds since 1970. */
interface CycleNewest {
  readonly cycle: string
  readonly commodity: string
  readonly newest: string
}

const metersOfCycle = 4
/** Meters of a cycle that are checked for a current tenancy: one pass finds them, without `FINAL`. */
const candidatesOfCycle = 16
const cyclesMax = 64

/**
 * The newest read of each billing cycle, by a few of its meters. A read in the future counts as read
 * when its file arrived. Reads are ordered by day and meter, so
 * the key finds a week of 256 meters in 256 * 7 granules at most.
 */
export function queryCycles(store: Store): Promise<readonly CycleNewest[]> {
  return store.rows<CycleNewest>({
    sql: sql`WITH picked AS
      (
        SELECT DISTINCT meter_id, toString(billing_cycle_id) AS cycle, toString(meter_type) AS commodity
        FROM tenancy FINAL
        WHERE valid_to IS NULL AND billing_cycle_id != '' AND meter_id IN
        (
          SELECT arrayJoin(meters) FROM
          (
            SELECT groupArray(${literal(candidatesOfCycle)})(meter_id) AS meters
            FROM tenancy
            WHERE valid_to IS NULL AND billing_cycle_id != ''
            GROUP BY billing_cycle_id, meter_type
            ORDER BY billing_cycle_id, meter_type
            LIMIT ${cyclesMax}
          )
        )
        ORDER BY cycle, commodity, meter_id
        LIMIT ${metersOfCycle} BY cycle, commodity
      )
      SELECT cycle, commodity,
        toUnixTimestamp(greatest(max(newest), toDateTime(today() - 7, 'UTC'))) AS newest
      FROM picked
      LEFT JOIN
      (
        SELECT meter_id, max(least(starts_at + seconds, toDateTime(received_at, 'UTC'))) AS newest
        FROM usage_current AS u
        INNER JOIN (SELECT arrival, received_at FROM file_state FINAL) AS f ON f.arrival = u.arrival
        WHERE local_day >= today() - 7 AND meter_id IN (SELECT meter_id FROM picked)
        GROUP BY meter_id
      ) AS reads ON reads.meter_id = picked.meter_id
      GROUP BY cycle, commodity`,
    settings: queryBounds,
  })
}

export async function readCycles(store: Store): Promise<readonly MetricSample[]> {
  return (await queryCycles(store)).map(({ cycle, commodity, newest }) =>
    sample('tieline_cycle_newest_interval_timestamp_seconds', { cycle, commodity }, Number(newest)),
  )
}
