import { linkSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { grouped } from '../infra/commands/output/table.js'
import { usageHeader } from '../infra/demo/usage-rows.js'
import { sql } from '../pipeline/store/sql.js'
import { processorSeconds } from './processor.js'
import { measureOnRig, type Rig } from './rig.js'
import { median } from './usage/figures.js'

export interface SmallFilesOptions {
  readonly files: number
  /** Rows of each file: an hour of 15-minute reads of a quarter as many meters. */
  readonly rows: number
  readonly rounds: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: medians of the rounds. */
export interface SmallFilesFigures {
  readonly files: number
  readonly rows: number
  readonly filesPerMinute: number
  /** Of worker and engine together, for each file. */
  readonly processorMsPerFile: number
  /** From the moment at which all files lie in the inbox. */
  readonly firstVisibleSeconds: number
  readonly lastVisibleSeconds: number
  /** Until the last receipt lies in the outbox. */
  readonly seconds: number
  readonly rounds: readonly Round[]
}

type Round = Pick<
  SmallFilesFigures,
  'firstVisibleSeconds' | 'lastVisibleSeconds' | 'seconds' | 'processorMsPerFile'
>

const perMinuteMin = 1_200
const pollMs = 100
/** Of a file: landing and receipt 5 ms, its share of some 60 statements of a group of 200 files 4 ms. */
const fileSeconds = 0.009

/** Files of as many collectors that wait together, each an hour of its own meters. */
export async function measureSmallFiles(options: SmallFilesOptions): Promise<SmallFilesFigures> {
  const { print, files, rows } = options
  const sources = [{ kind: 'folder', name: 'inbox', path: 'inbox', pollSeconds: 1 }]
  return measureOnRig(options, { sources }, async (rig) => {
    print(`${grouped(files)} files of ${grouped(rows)} rows`)
    print(`estimate: ${grouped(Math.round(60 / fileSeconds))} files a minute`)
    const rounds: Round[] = []
    for (let round = 0; round < options.rounds; round++) {
      const found = await measureRound(rig, options, round)
      rounds.push(found)
      print(`round ${round + 1}: ${found.seconds.toFixed(1)} s`)
    }
    const of = (key: keyof Round) => median(rounds.map((one) => one[key]))
    const figures: SmallFilesFigures = {
      files,
      rows,
      filesPerMinute: (files * 60) / of('seconds'),
      processorMsPerFile: of('processorMsPerFile'),
      firstVisibleSeconds: of('firstVisibleSeconds'),
      lastVisibleSeconds: of('lastVisibleSeconds'),
      seconds: of('seconds'),
      rounds,
    }
    const { filesPerMinute } = figures
    const rate = `${grouped(Math.round(filesPerMinute))} files a minute`
    print(`${rate}  ${filesPerMinute >= perMinuteMin ? 'reached' : 'MISSED'}: at least 1,200`)
    print(`${figures.processorMsPerFile.toFixed(0)} ms of processor time a file`)
    print(`first visible after ${figures.firstVisibleSeconds.toFixed(1)} s`)
    print(`last visible after ${figures.lastVisibleSeconds.toFixed(1)} s`)
    return figures
  })
}

async function measureRound(
  rig: Rig,
  { files, rows }: SmallFilesOptions,
  round: number,
): Promise<Round> {
  const folder = join(rig.files, String(round))
  mkdirSync(folder)
  const names = Array.from({ length: files }, (_, index) => {
    const name = `BENCH_06032026_Electric_${round * files + index + 1}.csv`
    writeFileSync(join(folder, name), fileOf(index, { rows, hour: round }))
    return name
  })
  const { worker, clickhouse } = rig.stack
  const spent = () => processorSeconds(worker.pid()) + processorSeconds(clickhouse?.pid())
  const before = spent()
  for (const name of names) linkSync(join(folder, name), join(rig.home.inbox, name))
  const from = Date.now()
  const isDone = () => {
    const receipts = readdirSync(rig.home.outbox).filter((name) => name.endsWith('.receipt.json'))
    return receipts.length >= (round + 1) * files
  }
  while (!isDone()) await sleep(pollMs)
  const seconds = (Date.now() - from) / 1_000
  const processorMsPerFile = ((spent() - before) * 1_000) / files
  const [seen] = await rig.store.rows<{ rows: string; first: string; last: string }>({
    sql: sql`SELECT sum(rows_accepted) AS rows,
        toString(toUnixTimestamp64Milli(min(published_at))) AS first,
        toString(toUnixTimestamp64Milli(max(published_at))) AS last
      FROM file_state FINAL WHERE arrival > ${round * files}`,
  })
  if (Number(seen?.rows) !== files * rows) {
    throw new Error(`not all rows were published: ${JSON.stringify(seen)}`)
  }
  return {
    seconds,
    processorMsPerFile,
    firstVisibleSeconds: (Number(seen?.first) - from) / 1_000,
    lastVisibleSeconds: (Number(seen?.last) - from) / 1_000,
  }
}

const readsPerHour = 4

/** An hour of a collector's meters. */
function fileOf(
  collector: number,
  { rows, hour }: { readonly rows: number; readonly hour: number },
): string {
  const lines = Array.from({ length: rows }, (_, row) => {
    const meter = `C${collector}M${Math.floor(row / readsPerHour)}`
    const minute = String((row % readsPerHour) * 15).padStart(2, '0')
    return `A${meter},S${meter},${meter},3/5/2026 ${hour}:${minute},0.${(row % 89) + 10}`
  })
  return `${usageHeader}\n${lines.join('\n')}\n`
}
