import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lengthsOf } from '../schemas/profile.js'
import { isDayFormat } from '../schemas/time-stamp.js'
import { type RejectedRow, rejectCodes } from '../schemas/usage-row.js'
import { daySeconds } from '../schemas/zone.js'
import { loadTasks } from './forward.js'
import { chunkName, landedFolder } from './landing.js'
import type { Line } from './line.js'
import { toRejectRow } from './odd-rows.js'
import { ensureLanded } from './receive.js'
import { type RawRow, splitRows } from './rows.js'
import { toLength } from './sample.js'
import type { Store } from './stores/clickhouse.js'
import type { FileState } from './stores/file-state.js'
import { oddMeters, storedLengths } from './stores/lengths.js'
import type { Counted } from './stores/overlap.js'
import { countUseless, type MeterRepair, uselessLines } from './stores/repair.js'
import { toMicros } from './sums.js'

/**
 * The meters of a file whose reads are not of the length that its sample showed (decision 16): the
 * smallest gap between a meter's starts counts, for a single read the length that is stored for
 * the meter, else the first of the profile's. Lengths that the profile does not name are `seconds`
 * 0: those rows are no use. `byShape` says whether a meter's shape proves its length.
 */
export async function findRepairs(
  line: Line,
  state: FileState,
  byShape: boolean,
): Promise<readonly MeterRepair[]> {
  const { seconds, format } = state.manifest
  const allowed = lengthsOf(line.profile, state.feed)
  const odd = await oddMeters(line.store, state.arrival, { seconds, all: !byShape })
  const isDaily = format !== null && isDayFormat(format)
  const stored: ReadonlyMap<string, number> =
    !isDaily && odd.some((meter) => meter.gap === 0)
      ? await storedLengths(line.store, state.arrival)
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
export async function rejectLengths(line: Line, state: FileState): Promise<Counted> {
  const { store, folders } = line
  const [found] = await store.rows<Counted>(countUseless(state.arrival))
  const counted = { rows: Number(found?.rows ?? 0), quantity: found?.quantity ?? '0' }
  if (counted.rows === 0) return counted
  await ensureLanded(line, state)
  const folder = landedFolder(folders.landing, state.arrival)
  for (const { chunk } of loadTasks(state)) {
    const rows: RawRow[] = []
    for (const row of splitRows(await readFile(join(folder, chunkName(chunk.chunk))), chunk.line)) {
      if (rows.push(row) === batchRows) await rejectUseless(store, state.arrival, rows.splice(0))
    }
    if (rows.length > 0) await rejectUseless(store, state.arrival, rows)
  }
  return counted
}

async function rejectUseless(
  store: Store,
  arrival: number,
  rows: readonly RawRow[],
): Promise<void> {
  const first = rows[0]?.line ?? 0
  const found = await store.rows<{ line: number; quantity: string }>(
    uselessLines(arrival, first, (rows.at(-1)?.line ?? 0) - first + 1),
  )
  const quantities = new Map(found.map((row) => [row.line, row.quantity]))
  const rejects = rows.flatMap((row) => {
    const quantity = quantities.get(row.line)
    return quantity === undefined ? [] : [toRejectRow(arrival, row, lengthless(quantity))]
  })
  if (rejects.length > 0) await store.insert('reject', rejects)
}

function lengthless(quantity: string): RejectedRow {
  const code = 'INTERVAL_LENGTH'
  const { detail } = rejectCodes[code]
  const micros = toMicros(quantity)
  return { outcome: 'rejected', code, column: 'TimeStamp', detail, micros, rounded: false }
}
