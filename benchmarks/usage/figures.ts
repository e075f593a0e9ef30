import { grouped } from '../../infra/commands/output/table.js'

/** What a browser on the operations page costs, by the processor time of worker and engine. */
export interface WatchingFigures {
  /** Watched load over the unwatched one next to it, medians over the pairs. */
  readonly watchedOverUnwatched: number
  readonly watchedProcessorOverUnwatched: number
  /** What watching adds in a second in which nothing is loaded, over what a second of a load takes. */
  readonly watchingOverLoad: number
  /** Processor seconds of each load, and of a second without one. */
  readonly watching: Readonly<Record<'load' | 'loadWatched' | 'idle' | 'idleWatched', number[]>>
}

/** What `--json` writes: medians in seconds, memory in MB (10^6 bytes). */
export interface UsageFigures extends Partial<WatchingFigures> {
  readonly engineSeconds: number
  readonly tielineSeconds: number
  readonly naiveSeconds: number
  readonly tielineOverEngine: number
  readonly naiveOverTieline: number
  readonly rows: number
  /** The highest of worker and handing-over process. */
  readonly rssNodeMb: number
  readonly rssEngineMb: number
  readonly rssNaiveMb: number
  readonly bytes: number
  readonly oneRowFileSeconds: number
  readonly rowsBad?: number
  /** The file without bad rows; `tielineSeconds` is then the file with them. */
  readonly tielineCleanSeconds?: number
  readonly badSpeedOverClean?: number
  readonly rowsSmall?: number
  readonly tielineSmallSeconds?: number
  readonly growth?: number
  readonly rowsClockChange?: number
  readonly tielineClockChangeSeconds?: number
  readonly clockChangeOverEngine?: number
  /** The same file again with three reads corrected. */
  readonly tielineAgainSeconds?: number
  readonly againOverFirst?: number
  /** Three reads of each of 1,000 meters corrected: seconds more than the engine alone takes. */
  readonly sparseOverEngineSeconds?: number
  /** Every measured value in order. */
  readonly rounds: Readonly<Record<string, readonly number[]>>
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const upper = sorted[sorted.length >> 1] ?? Number.NaN
  const lower = sorted[(sorted.length - 1) >> 1] ?? Number.NaN
  return (lower + upper) / 2
}

/** Rows a second of one typed insert on two cores: 2.8 to 4.8 million measured for this format. */
const engineRowsPerSecond = 3_800_000
/** Judging a line and looking its stamp up costs the engine about a third more than typing it. */
const judgingOverTyping = 1.35
/** Counting rows and energy: 40 ns a row; sha256: 1.5 GB/s; half of it hidden behind the loads. */
const receivingSeconds = (rows: number, bytes: number) => 0.5 * (rows * 40e-9 + bytes / 1.5e9)
/** Some 60 statements and 12 jobs a file at 4 ms, and flushes to disk. */
const fileSeconds = 0.3
/** fast-csv 0.4 million rows a second, JSON there and back again 0.25 million, one after the other. */
const naiveRowSeconds = 1 / 400_000 + 1 / 250_000

/** What is to be expected, stated before anything is measured. */
export function estimate(rows: number, bytes: number): readonly string[] {
  const engine = rows / engineRowsPerSecond
  const tieline = engine * judgingOverTyping + receivingSeconds(rows, bytes) + fileSeconds
  const naive = rows * naiveRowSeconds
  return [
    'estimate',
    `  engine   ${engine.toFixed(1)} s = rows / ${grouped(engineRowsPerSecond)}`,
    `  tieline  ${tieline.toFixed(1)} s = engine x ${judgingOverTyping} + half of counting and hashing + ${fileSeconds} s a file; ${(tieline / engine).toFixed(2)} x engine`,
    `  naive    ${naive.toFixed(1)} s = rows x (1 / 400,000 + 1 / 250,000); ${(naive / tieline).toFixed(1)} x tieline`,
  ]
}

interface Bound {
  readonly limit: number
  /** Whether the limit is the most that is allowed, else the least. */
  readonly most: boolean
}

const bounds = {
  tielineOverEngine: { limit: 1.5, most: true },
  naiveOverTieline: { limit: 6, most: false },
  nodeMb: { limit: 400, most: true },
  badSpeed: { limit: 0.5, most: false },
  growth: { limit: 3.7, most: true },
  clockChange: { limit: 2, most: true },
  again: { limit: 1.5, most: true },
  sparse: { limit: 2, most: true },
  watched: { limit: 1.02, most: true },
  watching: { limit: 0.02, most: true },
} as const satisfies Record<string, Bound>

/** Figures for people, each beside what it must reach. */
export function verdicts(figures: UsageFigures): readonly string[] {
  const { rows, engineSeconds, tielineSeconds, naiveSeconds } = figures
  const speed = (what: string, seconds: number) =>
    `${what.padEnd(26)} ${seconds.toFixed(2)} s  ${grouped(Math.round(rows / seconds))} rows/s`
  const held = (what: string, value: number, bound: Bound) => {
    const isReached = bound.most ? value <= bound.limit : value >= bound.limit
    const text = `${bound.most ? 'at most' : 'at least'} ${bound.limit}`
    return `${what.padEnd(26)} ${value.toFixed(bound.limit < 0.1 ? 4 : 2)}  ${isReached ? 'reached' : 'MISSED'}: ${text}`
  }
  const { tielineOverEngine, naiveOverTieline, badSpeedOverClean, growth } = figures
  const { clockChangeOverEngine, againOverFirst, watchedProcessorOverUnwatched } = figures
  const { sparseOverEngineSeconds } = figures
  const mb = (value: number) => `${Math.round(value)} MB`
  return [
    speed('(a) engine alone', engineSeconds),
    speed('(b) Tieline', tielineSeconds),
    speed('(c) first attempt', naiveSeconds),
    `${'a file without its rows'.padEnd(26)} ${figures.oneRowFileSeconds.toFixed(2)} s  (a file of one row)`,
    held('b/a', tielineOverEngine, bounds.tielineOverEngine),
    held('c/b', naiveOverTieline, bounds.naiveOverTieline),
    held('Node peak, MB', figures.rssNodeMb, bounds.nodeMb),
    `peaks                      engine ${mb(figures.rssEngineMb)}, first attempt ${mb(figures.rssNaiveMb)}`,
    ...(badSpeedOverClean === undefined
      ? []
      : [held('bad over clean speed', badSpeedOverClean, bounds.badSpeed)]),
    ...(growth === undefined ? [] : [held('growth from 30,000 meters', growth, bounds.growth)]),
    ...(clockChangeOverEngine === undefined
      ? []
      : [held('clock change over engine', clockChangeOverEngine, bounds.clockChange)]),
    ...(againOverFirst === undefined
      ? []
      : [held('corrected over first load', againOverFirst, bounds.again)]),
    ...(sparseOverEngineSeconds === undefined
      ? []
      : [held('sparse beyond engine, s', sparseOverEngineSeconds, bounds.sparse)]),
    ...(watchedProcessorOverUnwatched === undefined
      ? []
      : [
          held('watched load over another', watchedProcessorOverUnwatched, bounds.watched),
          held('watching over a load', figures.watchingOverLoad ?? Number.NaN, bounds.watching),
          `watched, by the clock       ${figures.watchedOverUnwatched?.toFixed(2)}  (the browser's own work included)`,
        ]),
  ]
}

/** A figure beside the limit that it must reach. */
export function verdict(text: string, isReached: boolean, limit: number): string {
  return `${text}  ${isReached ? 'reached' : 'MISSED'}: ${limit}`
}
