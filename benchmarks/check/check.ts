import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bytesText, grouped } from '../../infra/commands/output/table.js'
import { numberedMeters } from '../../infra/demo/customers.js'
import { usageFile } from '../../infra/demo/usage-file.js'
import { median } from '../usage/figures.js'
import type { CheckAnswer, CheckRequest } from './check-process.js'

export interface CheckBenchmark {
  readonly customers: number
  readonly rounds: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: medians in seconds, memory in MB (10^6 bytes). */
export interface CheckFigures {
  readonly rows: number
  readonly bytes: number
  readonly parserSeconds: number
  readonly checkSeconds: number
  /** Speed of the check over that of the parser alone. */
  readonly checkOverParser: number
  readonly rssCheckMb: number
  readonly rounds: Readonly<Record<'parser' | 'check', readonly number[]>>
}

const speedMin = 0.5
const rssMbMax = 400
/** fast-csv reads some 180,000 rows a second, the check judges as many, each on one core. */
const rowsPerSecond = 180_000

/**
 * Checks one day of 15-minute reads and reads the same file with `fast-csv` alone, in turn, each in
 * a process of its own.
 */
export async function check(options: CheckBenchmark): Promise<CheckFigures> {
  const { print, json } = options
  const folder = mkdtempSync(join(tmpdir(), 'tieline-bench-check-'))
  try {
    const figures = await measure(folder, options)
    const { checkOverParser, rssCheckMb } = figures
    const ratio = checkOverParser.toFixed(2)
    print(verdict(`check over fast-csv alone ${ratio}`, checkOverParser >= speedMin, speedMin))
    print(verdict(`memory ${Math.round(rssCheckMb)} MB`, rssCheckMb < rssMbMax, rssMbMax))
    if (json) writeFileSync(json, `${JSON.stringify(figures, undefined, 2)}\n`)
    return figures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(folder: string, options: CheckBenchmark): Promise<CheckFigures> {
  const { print, customers, rounds } = options
  const path = join(folder, 'BENCH_05032026_Electric.csv')
  const { rows, bytes } = await usageFile(path, {
    meters: numberedMeters(customers),
    seed: 20_260_305,
    firstDay: '2026-03-04',
    days: 1,
    intervalSeconds: 900,
    zone: 'America/Detroit',
  })
  print(`${grouped(rows)} rows, ${bytesText(bytes)}`)
  print(`estimate: each ${(rows / rowsPerSecond).toFixed(0)} s = rows / ${grouped(rowsPerSecond)}`)
  const seconds = { parser: [] as number[], check: [] as number[] }
  const peaks: number[] = []
  for (let round = 1; round <= rounds; round++) {
    for (const what of ['parser', 'check'] as const) {
      const answer = await runAlone({ what, path, folder })
      if (answer.rows !== rows) throw new Error(`${what} saw ${answer.rows} rows of ${rows}`)
      seconds[what].push(answer.seconds)
      if (what === 'check') peaks.push(answer.peakMb)
      const speed = grouped(Math.round(rows / answer.seconds))
      print(`  ${what.padEnd(7)} ${answer.seconds.toFixed(2)} s  ${speed} rows/s`)
    }
  }
  const [parserSeconds, checkSeconds] = [median(seconds.parser), median(seconds.check)]
  return {
    rows,
    bytes,
    parserSeconds,
    checkSeconds,
    checkOverParser: parserSeconds / checkSeconds,
    rssCheckMb: Math.max(...peaks),
    rounds: seconds,
  }
}

const program = fileURLToPath(new URL('check-process.js', import.meta.url))

/** What a process of its own says that does one thing. */
export async function runAlone(request: CheckRequest): Promise<CheckAnswer> {
  const child = fork(program)
  const answered = once(child, 'message').then(([answer]) => answer as CheckAnswer)
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`${request.what} ended with code ${code} and without an answer`)
  })
  child.send(request)
  const answer = await Promise.race([answered, ended])
  ended.catch(() => undefined)
  return answer
}

export function verdict(text: string, isReached: boolean, limit: number): string {
  return `${text}  ${isReached ? 'reached' : 'MISSED'}: ${limit}`
}
