import { createReadStream, createWriteStream, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { bytesText, grouped } from '../../infra/commands/output/table.js'
import { numberedMeters } from '../../infra/demo/customers.js'
import { type UsageTally, usageFile } from '../../infra/demo/usage-file.js'
import { measureOnRig, type Rig, untilMerged } from '../rig.js'
import { createEngineAlone } from './engine-alone.js'
import { estimate, median, type UsageFigures, verdicts, type WatchingFigures } from './figures.js'
import { runNaively } from './run-naively.js'
import { createThroughTieline, type Passage, type ThroughTieline } from './through-tieline.js'
import { measureWatching } from './watching.js'

export interface UsageBenchmark {
  readonly customers: number
  readonly rounds: number
  /** Share of unusable rows of the measured file. */
  readonly bad: number
  readonly growth: boolean
  /** Also a day of 25 hours. */
  readonly clockChange: boolean
  /** Also the same file again with three reads corrected, and a file of sparse corrections. */
  readonly again: boolean
  /** Also what a browser on the operations page costs. */
  readonly watched: boolean
  readonly json?: string
  readonly print: (line: string) => void
}

interface UsageFile extends UsageTally {
  readonly path: string
}

const timeZone = 'America/Detroit'
const customersSmall = 30_000
/** The clock of the zone is set back on it: 25 hours. */
const clockChangeDay = '2025-11-02'
const oneRowRounds = 5

/**
 * Loads one day of 15-minute reads in three ways, interleaved, and prints medians, ratios, peak
 * memory and what a file costs in addition to its rows.
 */
export async function measureUsage(options: UsageBenchmark): Promise<UsageFigures> {
  const { print } = options
  const usage = { intervals: { Electric: [900, 'day'] } }
  return measureOnRig(options, { timeZone, usage }, async (rig) => {
    const figures = await measure(rig, options)
    for (const line of verdicts(figures)) print(line)
    return figures
  })
}

async function measure(rig: Rig, options: UsageBenchmark): Promise<UsageFigures> {
  const { print, customers, rounds } = options
  const clean = await writeFile(rig, 'clean', { customers, bad: 0 })
  const bad = options.bad > 0 ? await writeFile(rig, 'bad', { customers, bad: options.bad }) : clean
  const small = await writeFile(rig, 'small', { customers: customersSmall, bad: 0 })
  const clock = options.clockChange
    ? await writeFile(rig, 'clock', { customers, bad: 0, firstDay: clockChangeDay })
    : undefined
  const single = await writeFile(rig, 'single', { customers: 1, bad: 0, daily: true })
  print(`${grouped(clean.rows)} rows, ${bytesText(clean.bytes)}; ${grouped(bad.rowsBad)} bad rows`)
  for (const line of estimate(clean.rows, clean.bytes)) print(line)
  const engine = await createEngineAlone(rig.store, timeZone)
  const tieline = await createThroughTieline(rig)
  const seconds = noTimes()
  const naivePeaks: number[] = []
  const note = (what: keyof Times, value: number) => {
    seconds[what].push(value)
    print(`  ${what.padEnd(16)} ${value.toFixed(2)} s`)
  }
  const load = async (what: keyof Times, file: UsageFile) =>
    note(what, (await loadWhole(tieline, file)).seconds)
  try {
    const settings = await engine.warmUp(clean.path)
    print(`the engine is fastest with ${JSON.stringify(settings)}`)
    await tieline.measure(small.path)
    for (let round = 0; round < oneRowRounds; round++) await load('single', single)
    for (let round = 1; round <= rounds; round++) {
      print(`round ${round} of ${rounds}`)
      note('engine', await engine.measure(clean.path))
      await load('tieline', bad)
      if (bad !== clean) await load('clean', clean)
      if (options.growth) await load('small', small)
      if (clock !== undefined) {
        note('clockEngine', await engine.measure(clock.path))
        await load('clock', clock)
      }
      if (options.again) {
        const sparse = await writeSparse(rig)
        note('sparseEngine', await engine.measure(sparse))
        note('sparse', await loadSparse(tieline, { clean: clean.path, sparse }))
        note('again', await loadAgain(rig, tieline, clean.path))
      }
      const naive = await runNaively({ path: clean.path, store: rig.stack.store })
      naivePeaks.push(naive.peakMb)
      note('naive', naive.seconds)
    }
    const address = rig.stack.worker.detail().operations
    const watching = options.watched
      ? await measureWatching({ tieline, load: () => loadWhole(tieline, bad), address, print })
      : undefined
    const peaks = tieline.peaks()
    return toFigures({ clean, bad, small, clock, seconds, peaks, naivePeaks, watching })
  } finally {
    await tieline.close()
  }
}

/** Every row of a file, or an error. */
async function loadWhole(tieline: ThroughTieline, file: UsageFile): Promise<Passage> {
  const passage = await tieline.measure(file.path)
  if (passage.receipt.rows.accepted !== file.rows - file.rowsBad) {
    throw new Error(`rows are missing: ${JSON.stringify(passage.receipt)}`)
  }
  return passage
}

const timed = [
  ...(['engine', 'tieline', 'clean', 'small', 'naive', 'single'] as const),
  ...(['clock', 'clockEngine', 'again', 'sparse', 'sparseEngine'] as const),
] as const
type Times = Record<(typeof timed)[number], number[]>

function noTimes(): Times {
  return Object.fromEntries(timed.map((what) => [what, []])) as unknown as Times
}

/**
 * Seconds for a file of which all is published already but three reads, which it corrects. A file is
 * sent again hours later, when the engine has merged what it stored; so it is waited for.
 */
async function loadAgain(rig: Rig, tieline: ThroughTieline, path: string): Promise<number> {
  const corrected = `${path}.corrected`
  await pipeline(createReadStream(path), correctThree, createWriteStream(corrected))
  await tieline.measure(path, { keep: true })
  await untilMerged(rig.store)
  const { seconds, receipt } = await tieline.measure(corrected)
  if (receipt.restated?.rows !== 3) throw new Error(`not three: ${JSON.stringify(receipt)}`)
  return seconds
}

/** Gives three rows of the first piece another quantity. */
async function* correctThree(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const bytes of input) {
    const lines = bytes.toString('latin1').split('\n')
    for (const at of isFirst ? [5, 50, 500] : []) {
      lines[at] = (lines[at] as string).replace(/[^,]*$/, '7.777')
    }
    yield isFirst ? Buffer.from(lines.join('\n'), 'latin1') : bytes
    isFirst = false
  }
}

const sparseMeters = 1_000
const sparseSlots = new Set([8, 20, 50])

/** A file that corrects three reads of each of some meters. */
async function writeSparse(rig: Rig): Promise<string> {
  const { path } = await writeFile(rig, 'whole', { customers: sparseMeters, bad: 0 })
  const [header = '', ...rows] = readFileSync(path, 'utf8').trimEnd().split('\n')
  const chosen = rows.filter((_, at) => sparseSlots.has(at % 96))
  const corrected = chosen.map((row) => row.replace(/[^,]*$/, '7.777'))
  const sparse = join(rig.files, 'sparse.csv')
  writeFileSync(sparse, `${[header, ...corrected].join('\n')}\n`)
  return sparse
}

/** Seconds for sparse corrections of a day that is published. */
async function loadSparse(
  tieline: ThroughTieline,
  { clean, sparse }: { readonly clean: string; readonly sparse: string },
): Promise<number> {
  await tieline.measure(clean, { keep: true })
  const { seconds, receipt } = await tieline.measure(sparse)
  const restated = receipt.restated?.rows
  if (restated !== sparseMeters * sparseSlots.size) throw new Error(`not all: ${restated}`)
  return seconds
}

interface Measured {
  readonly clean: UsageFile
  readonly bad: UsageFile
  readonly small: UsageFile
  readonly clock: UsageFile | undefined
  readonly seconds: Times
  readonly peaks: { readonly nodeMb: number; readonly engineMb: number }
  readonly naivePeaks: readonly number[]
  readonly watching: WatchingFigures | undefined
}

function toFigures(measured: Measured): UsageFigures {
  const { seconds, clean, bad, small, peaks } = measured
  const engineSeconds = median(seconds.engine)
  const tielineSeconds = median(seconds.tieline)
  const naiveSeconds = median(seconds.naive)
  return {
    engineSeconds,
    tielineSeconds,
    naiveSeconds,
    tielineOverEngine: tielineSeconds / engineSeconds,
    naiveOverTieline: naiveSeconds / tielineSeconds,
    rows: clean.rows,
    rssNodeMb: peaks.nodeMb,
    rssEngineMb: peaks.engineMb,
    rssNaiveMb: Math.max(...measured.naivePeaks),
    bytes: clean.bytes,
    oneRowFileSeconds: median(seconds.single),
    ...(bad !== clean && {
      rowsBad: bad.rowsBad,
      tielineCleanSeconds: median(seconds.clean),
      badSpeedOverClean: median(seconds.clean) / tielineSeconds,
    }),
    ...(seconds.small.length > 0 && {
      rowsSmall: small.rows,
      tielineSmallSeconds: median(seconds.small),
      growth: tielineSeconds / median(seconds.small),
    }),
    ...(measured.clock !== undefined && {
      rowsClockChange: measured.clock.rows,
      tielineClockChangeSeconds: median(seconds.clock),
      clockChangeOverEngine: median(seconds.clock) / median(seconds.clockEngine),
    }),
    ...(seconds.again.length > 0 && {
      tielineAgainSeconds: median(seconds.again),
      againOverFirst:
        median(seconds.again) / median(bad === clean ? seconds.tieline : seconds.clean),
      sparseOverEngineSeconds: median(seconds.sparse) - median(seconds.sparseEngine),
    }),
    ...measured.watching,
    rounds: seconds,
  }
}

interface FileShape {
  readonly customers: number
  readonly bad: number
  readonly daily?: boolean
  /** `YYYY-MM-DD`. */
  readonly firstDay?: string
}

/** Writes a day of reads with the project's generator. */
async function writeFile(rig: Rig, name: string, shape: FileShape): Promise<UsageFile> {
  const path = join(rig.files, `${name}.csv`)
  const tally = await usageFile(path, {
    meters: numberedMeters(shape.customers),
    seed: 20_260_305,
    firstDay: shape.firstDay ?? '2026-03-04',
    days: 1,
    intervalSeconds: shape.daily ? 86_400 : 900,
    zone: timeZone,
    badShare: shape.bad,
  })
  return { ...tally, path }
}
