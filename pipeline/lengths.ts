import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lengthsOf } from '../schemas/profile.js'
import { formatQuantity } from '../schemas/quantity.js'
import { isDayFormat } from '../schemas/time-stamp.js'
import { rejectCodes } from '../schemas/usage-row.js'
import { daySeconds } from '../schemas/zone.js'
import { loadTasks } from './forward.js'
import { chunkName, landedFolder } from './landing.js'
import type { Line } from './line.js'
import { toRejectRow } from './odd-rows.js'
import { ensureLanded } from './receive.js'
import { type RawRow, splitRows } from './rows.js'
import { toLength } from './sample.js'
import type { FileState } from './stores/file-state.js'
import { oddMeters, storedLengths } from './stores/lengths.js'
import type { Counted } from './stores/overlap.js'
import { linesOfMeters, type MeterRepair } from './stores/repair.js'

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

const rejectBatch = 5_000

/** Writes down the rows of meters whose length is not usable, and counts them. */
export async function rejectLengths(
  line: Line,
  state: FileState,
  repairs: readonly MeterRepair[],
): Promise<Counted> {
  const meterIds = repairs.filter((one) => one.seconds === 0).map((one) => one.meterId)
  if (meterIds.length === 0) return { rows: 0, quantity: '0' }
  await ensureLanded(line, state)
  const found = await line.store.rows<{ line: number; micros: string }>(
    linesOfMeters(state.arrival, meterIds),
  )
  const micros = new Map(found.map((row) => [row.line, BigInt(row.micros)]))
  const rejects: object[] = []
  for await (const row of landedRows(
    line,
    state,
    found.map((one) => one.line),
  )) {
    const code = 'INTERVAL_LENGTH'
    const { detail } = rejectCodes[code]
    const verdict = {
      code,
      column: 'TimeStamp',
      detail,
      micros: micros.get(row.line) ?? 0n,
    } as const
    rejects.push(toRejectRow(state.arrival, row, { outcome: 'rejected', ...verdict }))
    if (rejects.length >= rejectBatch) await line.store.insert('reject', rejects.splice(0))
  }
  if (rejects.length > 0) await line.store.insert('reject', rejects)
  const total = [...micros.values()].reduce((sum, one) => sum + one, 0n)
  return { rows: found.length, quantity: formatQuantity(total) }
}

/** The rows that start on the given lines of a file, ascending, from its landing. */
async function* landedRows(
  line: Line,
  state: FileState,
  wanted: readonly number[],
): AsyncGenerator<RawRow> {
  const folder = landedFolder(line.folders.landing, state.arrival)
  for (const { chunk } of loadTasks(state)) {
    const here = wanted.filter((at) => at >= chunk.line && at < chunk.line + chunk.lines)
    if (here.length === 0) continue
    const lines = new Set(here)
    const bytes = await readFile(join(folder, chunkName(chunk.chunk)))
    for (const row of splitRows(bytes, chunk.line)) if (lines.has(row.line)) yield row
  }
}
