import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lengthsOf } from '../../schemas/settings/profile.js'
import { isDayFormat } from '../../schemas/time/timestamp.js'
import { daySeconds } from '../../schemas/time/zone.js'
import { type RejectedRow, rejectCodes } from '../../schemas/usage-row.js'
import type { PipelineContext } from '../context.js'
import { chunkName, landedFolder } from '../files/landing.js'
import { type RawRow, splitRows } from '../files/rows.js'
import type { FileState } from '../ledger/file-state.js'
import { toMicros } from '../ledger/sums.js'
import type { Store } from '../store/clickhouse.js'
import { id, sql } from '../store/sql.js'
import { stagingOf } from '../store/staging.js'
import { irregularMeters } from './irregular-meters.js'
import {
  type Closest,
  closestOfUnusable,
  countUnusable,
  type MeterRepair,
  type Unusable,
  unusableLines,
} from './rekey.js'
import { toRejectRow } from './row-path.js'
import { toLength } from './sample.js'

/**
 * The meters of a file whose reads are not of the length that its sample showed (decision 16): the
 * smallest gap between a meter's starts counts, for a single read the length that is stored for
 * the meter, else the first of the profile's. Lengths that the profile does not name are `seconds`
 * 0: those rows are no use. `byShape` says whether a meter's shape proves its length.
 */
export async function findRepairs(
  context: PipelineContext,
  state: FileState,
  byShape: boolean,
): Promise<readonly MeterRepair[]> {
  const { seconds, format } = state.manifest
  const allowed = lengthsOf(context.profile, state.feed)
  const odd = await metersOfOtherLength(context.store, state.arrival, { seconds, all: !byShape })
  const isDaily = format !== null && isDayFormat(format)
  const stored: ReadonlyMap<string, number> =
    !isDaily && odd.some((meter) => meter.gap === 0)
      ? await storedLengths(context.store, state.arrival)
      : new Map()
  const repairs = odd.map(({ meterId, gap }) => {
    const single = isDaily ? daySeconds : (stored.get(meterId) ?? (allowed[0] as number))
    return { meterId, seconds: meterLength(gap, { single, allowed }) }
  })
  return repairs.filter((repair) => repair.seconds !== seconds)
}

/**
 * The length of a meter whose different starts lie at least `gap` seconds apart, 0 for a single
 * start, whose length is `single`; 0 where the profile does not name the length (decision 16).
 */
export function meterLength(
  gap: number,
  rules: { readonly single: number; readonly allowed: readonly number[] },
): number {
  const length = gap === 0 ? rules.single : toLength(gap)
  return rules.allowed.includes(length) ? length : 0
}

/** Rows that are looked at together; their texts are in memory. */
const batchRows = 50_000

/** Writes down the rows of meters whose length is not usable, and counts them. */
export async function rejectLengths(
  context: PipelineContext,
  state: FileState,
  reland: () => Promise<void>,
): Promise<Unusable> {
  const { store, folders } = context
  const { arrival } = state
  const counted = await countUnusable(store, arrival)
  if (counted.rows === 0) return counted
  await reland()
  const closest = await closestOfUnusable(store, arrival)
  const allowed = lengthsOf(context.profile, state.feed)
  const detailOf = (meterId: string) => lengthDetail(meterId, closest.get(meterId), allowed)
  const folder = landedFolder(folders.landing, arrival)
  for (const { chunk, line } of state.manifest.chunks) {
    const rows: RawRow[] = []
    const flush = () => rejectUnusable(store, arrival, { rows: rows.splice(0), detailOf })
    for (const row of splitRows(await readFile(join(folder, chunkName(chunk))), line)) {
      if (rows.push(row) === batchRows) await flush()
    }
    if (rows.length > 0) await flush()
  }
  return counted
}

interface Suspects {
  readonly rows: readonly RawRow[]
  readonly detailOf: (meterId: string) => string
}

async function rejectUnusable(
  store: Store,
  arrival: number,
  { rows, detailOf }: Suspects,
): Promise<void> {
  const first = rows[0]?.line ?? 0
  const found = await store.rows<{ line: number; meter_id: string; quantity: string }>(
    unusableLines(arrival, first, (rows.at(-1)?.line ?? 0) - first + 1),
  )
  const unusable = new Map(found.map((row) => [row.line, row]))
  const rejects = rows.flatMap((row) => {
    const { meter_id: meterId, quantity } = unusable.get(row.line) ?? {}
    if (meterId === undefined || quantity === undefined) return []
    return [toRejectRow(arrival, row, lengthless(detailOf(meterId), quantity))]
  })
  if (rejects.length > 0) await store.insert('reject', rejects)
}

function lengthless(detail: string, quantity: string): RejectedRow {
  const micros = toMicros(quantity)
  const code = 'INTERVAL_LENGTH'
  return { outcome: 'rejected', code, column: 'TimeStamp', detail, micros, rounded: false }
}

/**
 * Why no row of a meter is usable, for whoever corrects the file: one wrong time is enough to
 * bring two times so close that no length of the profile fits.
 */
export function lengthDetail(
  meterId: string,
  { gap, lines: [line, next] }: Closest = { gap: 0, lines: [0, 0] },
  allowed: readonly number[],
): string {
  const { detail } = rejectCodes.INTERVAL_LENGTH
  const named = allowed.map(spellLength).join(', ')
  if (gap === 0) return `${detail} (${named}): meter ${meterId} has one time only`
  return `${detail} (${named}): lines ${line} and ${next} of meter ${meterId} are ${spellLength(toLength(gap))} apart; fix a wrong time, or add the length to the profile`
}

function spellLength(seconds: number): string {
  if (seconds % daySeconds === 0)
    return seconds === daySeconds ? 'a day' : `${seconds / daySeconds} days`
  return seconds % 60 === 0 ? `${seconds / 60} minutes` : `${seconds} seconds`
}

/** What the reads of one meter in a file look like. */
interface IrregularMeter {
  readonly meterId: string
  /** Smallest gap between two different starts, seconds; 0 where there is one start only. */
  readonly gap: number
}

/**
 * The meters of a file whose smallest gap is another than `seconds`, the length that its sample
 * showed. Where `all` is not set only those are looked at whose shape does not prove it.
 */
async function metersOfOtherLength(
  store: Store,
  arrival: number,
  wanted: { readonly seconds: number; readonly all: boolean },
): Promise<readonly IrregularMeter[]> {
  const { seconds, all } = wanted
  const { reads } = stagingOf(arrival)
  const rows = await store.rows<{ meter_id: string; gap: number }>({
    sql: sql`SELECT meter_id,
        toUInt32(arrayMin(arrayPopFront(arrayDifference(starts)))) AS gap
      FROM (
        SELECT meter_id, arraySort(groupUniqArray(toUnixTimestamp(starts_at))) AS starts
        FROM ${id(reads)}
        ${all ? sql`` : sql`WHERE meter_id IN (${irregularMeters(reads, seconds)})`}
        GROUP BY meter_id
      )
      ${all ? sql`` : sql`WHERE gap != ${seconds}`}`,
  })
  return rows.map((row) => ({ meterId: row.meter_id, gap: row.gap }))
}

/** The interval length that is stored for meters, from their latest days in the store. */
async function storedLengths(store: Store, arrival: number): Promise<ReadonlyMap<string, number>> {
  const rows = await store.rows<{ meter_id: string; seconds: number }>({
    sql: sql`SELECT meter_id, argMin(seconds, (-toInt64(toUnixTimestamp(starts_at)), seconds)) AS seconds
      FROM usage_current
      WHERE arrival != ${arrival}
        AND meter_id IN (
          SELECT meter_id FROM ${id(stagingOf(arrival).reads)} GROUP BY meter_id HAVING uniqExact(starts_at) = 1
        )
      GROUP BY meter_id`,
  })
  return new Map(rows.map((row) => [row.meter_id, row.seconds]))
}
