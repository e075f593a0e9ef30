import { readdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { grouped } from '../../infra/commands/output/table.js'
import { type MeterReference, numberedMeters } from '../../infra/demo/customers.js'
import { usageFile } from '../../infra/demo/usage-file.js'
import { sql } from '../../pipeline/store/sql.js'
import { measureOnRig, type Rig, untilMerged } from '../rig.js'
import { createThroughTieline, type ThroughTieline } from './through-tieline.js'

export interface MonthOptions {
  readonly customers: number
  /** Files of the month, each with all days of its share of the customers. */
  readonly files: number
  readonly json?: string
  readonly print: (line: string) => void
}

interface MonthFile {
  readonly rows: number
  readonly bytes: number
  readonly seconds: number
  readonly processorSeconds: number
}

/** What `--json` writes. Memory is a peak, disk what the file system has less. */
export interface MonthFigures {
  readonly rows: number
  /** The sum of all files' seconds. */
  readonly seconds: number
  readonly rowsPerSecond: number
  /** Seconds of a row in the last file over those in the first. */
  readonly growth: number
  readonly nodeMb: number
  readonly engineMb: number
  /** While the files were loaded, the file that is sent among it. */
  readonly diskPeakMb: number
  /** Of the stored reads and days, merged. */
  readonly storedMb: number
  readonly bytesPerRow: number
  /** After the last receipt, until no merge is under way. */
  readonly mergeSeconds: number
  /** Active parts of the reads, at the last receipt and after the merges. */
  readonly parts: { readonly atOnce: number; readonly merged: number }
  readonly files: readonly MonthFile[]
}

const month = { firstDay: '2026-03-01', days: 31, zone: 'America/Detroit', seed: 20_260_301 }
const watchMs = 1_000

/** Loads a month of 15-minute reads in files that each have all days of some customers. */
export function measureMonth(options: MonthOptions): Promise<MonthFigures> {
  const { zone: timeZone } = month
  return measureOnRig(options, { timeZone }, (rig) => measure(rig, options))
}

async function measure(rig: Rig, options: MonthOptions): Promise<MonthFigures> {
  const { customers, files, print } = options
  const through = await createThroughTieline(rig)
  const disk = watchDisk(rig.home.path)
  const loaded: MonthFile[] = []
  try {
    for (let at = 0; at < files; at++) {
      const first = Math.floor((at * customers) / files)
      const count = Math.floor(((at + 1) * customers) / files) - first
      const file = await load(rig, through, numberedMeters(count, first))
      loaded.push(file)
      const rate = grouped(Math.round(file.rows / file.seconds))
      print(`${grouped(file.rows)} rows in ${file.seconds.toFixed(1)} s, ${rate} rows/s`)
    }
  } finally {
    disk.stop()
    await through.close()
  }
  const { parts: atOnce } = await stored(rig)
  const from = performance.now()
  await untilMerged(rig.store)
  const mergeSeconds = (performance.now() - from) / 1_000
  const { parts: merged, rows, bytes } = await stored(rig)
  const total = (of: (file: MonthFile) => number) => loaded.reduce((sum, one) => sum + of(one), 0)
  if (rows !== total((file) => file.rows)) throw new Error(`${rows} rows are stored`)
  const seconds = total((file) => file.seconds)
  const [each, eachFirst] = [loaded.at(-1), loaded[0]].map((one) => one && one.seconds / one.rows)
  return {
    ...{ rows, seconds, rowsPerSecond: rows / seconds, growth: (each ?? 0) / (eachFirst ?? 1) },
    ...through.peaks(),
    ...{ diskPeakMb: disk.peakMb(), storedMb: bytes / 1e6, bytesPerRow: bytes / rows },
    ...{ mergeSeconds, parts: { atOnce, merged }, files: loaded },
  }
}

/** Writes a file of some meters, loads it, and removes it. */
async function load(
  rig: Rig,
  through: ThroughTieline,
  meters: readonly MeterReference[],
): Promise<MonthFile> {
  const path = join(rig.files, 'share.csv')
  const { rows, bytes } = await usageFile(path, { ...month, meters, intervalSeconds: 900 })
  const { receipt, ...times } = await through.measure(path, { keep: true })
  if (receipt.rows.accepted !== rows) throw new Error(`rows are missing: ${receipt.rows.accepted}`)
  for (const name of readdirSync(rig.files)) rmSync(join(rig.files, name))
  return { rows, bytes, ...times }
}

/** The stored reads, each once, and what they and their days take on disk. */
async function stored({
  store,
}: Rig): Promise<{ readonly rows: number; readonly parts: number; readonly bytes: number }> {
  const [row] = await store.rows({
    sql: sql`SELECT sumIf(rows, table = 'usage_read') AS rows, countIf(table = 'usage_read') AS parts,
        sum(bytes_on_disk) AS bytes
      FROM system.parts
      WHERE active AND database = currentDatabase() AND table IN ('usage_read', 'usage_day_row')`,
  })
  const { rows, parts, bytes } = Object(row)
  return { rows: Number(rows), parts: Number(parts), bytes: Number(bytes) }
}

/** What a file system has less than at the start, at most, looked at every second. */
function watchDisk(path: string): { peakMb(): number; stop(): void } {
  const freeMb = () => {
    const { bavail, bsize } = statfsSync(path)
    return (bavail * bsize) / 1e6
  }
  const before = freeMb()
  let least = before
  const timer = setInterval(() => {
    least = Math.min(least, freeMb())
  }, watchMs)
  return { peakMb: () => before - least, stop: () => clearInterval(timer) }
}
