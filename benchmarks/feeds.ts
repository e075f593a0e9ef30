import { linkSync, mkdirSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { bytesText, grouped } from '../infra/commands/output/table.js'
import { createSubmission, type Submission } from '../pipeline/intake/submit.js'
import type { Receipt } from '../schemas/receipt.js'
import { billingFiles, type FeedFile } from './bills/billing-files.js'
import { peakMb, resetPeak } from './memory.js'
import { runParser } from './parser.js'
import { measureOnRig, type Rig } from './rig.js'
import { median, verdict } from './usage/figures.js'

export interface FeedsOptions {
  readonly customers: number
  readonly rounds: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: medians in seconds, memory in MB (10^6 bytes). */
export interface FeedsFigures {
  readonly customers: number
  readonly rows: number
  readonly bytes: number
  /** One process reads the files one after the other and does nothing with the rows. */
  readonly parserSeconds: number
  readonly tielineSeconds: number
  /** Speed of Tieline over that of the parser alone. */
  readonly tielineOverParser: number
  /** The highest of worker and handing-over process, with all customers and with a tenth of them. */
  readonly rssNodeMb: number
  readonly rssNodeTenthMb: number
  readonly rssEngineMb: number
  readonly rounds: Readonly<Record<'parser' | 'tieline', readonly number[]>>
}

const speedMin = 0.4
/** So much more memory than with a tenth of the customers is not growth but chance. */
const growthMbMax = 150
/** fast-csv reads some 180,000 rows a second; the worker judges as many, the engine stores beside it. */
const rowsPerSecond = 180_000

/**
 * Loads the billing of a cycle day, from the submit of all its files to the last receipt, and reads
 * the same files with `fast-csv` alone, in turn.
 */
export async function measureFeeds(options: FeedsOptions): Promise<FeedsFigures> {
  const { print } = options
  return measureOnRig(options, {}, async (rig) => {
    const figures = await measure(rig, options)
    const { tielineOverParser, rssNodeMb, rssNodeTenthMb } = figures
    const ratio = tielineOverParser.toFixed(2)
    print(verdict(`Tieline over fast-csv alone ${ratio}`, tielineOverParser >= speedMin, speedMin))
    const growthMb = Math.round(rssNodeMb - rssNodeTenthMb)
    const growth = `memory ${Math.round(rssNodeMb)} MB, ${growthMb} MB above that of a tenth`
    print(verdict(growth, growthMb < growthMbMax, growthMbMax))
    return figures
  })
}

async function measure(rig: Rig, options: FeedsOptions): Promise<FeedsFigures> {
  const { print, customers, rounds } = options
  const all = await write(rig, 'all', customers)
  const tenth = await write(rig, 'tenth', Math.max(1, Math.round(customers / 10)))
  const rows = all.reduce((sum, file) => sum + file.rows, 0)
  const bytes = all.reduce((sum, { path }) => sum + statSync(path).size, 0)
  print(`${grouped(rows)} rows in ${all.length} files, ${bytesText(bytes)}`)
  print(`estimate: each ${(rows / rowsPerSecond).toFixed(1)} s = rows / ${grouped(rowsPerSecond)}`)
  const through = await createThrough(rig)
  const seconds = { parser: [] as number[], tieline: [] as number[] }
  const note = (what: keyof typeof seconds, value: number) => {
    seconds[what].push(value)
    print(`  ${what.padEnd(8)} ${value.toFixed(2)} s`)
  }
  try {
    await through.pass(tenth)
    const rssNodeTenthMb = (await through.pass(tenth)).nodeMb
    const peaks: Passage[] = []
    for (let round = 1; round <= rounds; round++) {
      note('parser', await parseAlone(all))
      const passage = await through.pass(all)
      peaks.push(passage)
      note('tieline', passage.seconds)
    }
    const [parserSeconds, tielineSeconds] = [median(seconds.parser), median(seconds.tieline)]
    return {
      customers,
      rows,
      bytes,
      parserSeconds,
      tielineSeconds,
      tielineOverParser: parserSeconds / tielineSeconds,
      rssNodeMb: Math.max(...peaks.map(({ nodeMb }) => nodeMb)),
      rssNodeTenthMb,
      rssEngineMb: Math.max(...peaks.map(({ engineMb }) => engineMb)),
      rounds: seconds,
    }
  } finally {
    await through.close()
  }
}

async function write(rig: Rig, name: string, customers: number): Promise<readonly FeedFile[]> {
  const folder = join(rig.files, name)
  mkdirSync(folder)
  return billingFiles(folder, customers)
}

interface Passage {
  readonly seconds: number
  readonly nodeMb: number
  readonly engineMb: number
}

const tables = ['billing_period_row', 'bill_line_row', 'invoice_line_row']

/** Files under names of their own, on tables that are emptied afterwards, so that rounds begin alike. */
async function createThrough(rig: Rig) {
  const { store, redisUrl, clickhouse, worker } = rig.stack
  const submission = await createSubmission({ store, redisUrl, profile: rig.profile })
  const nodePids = [process.pid, worker.pid()]
  let passed = 0
  return {
    pass: async (files: readonly FeedFile[]): Promise<Passage> => {
      passed++
      const paths = files.map(({ path }) => {
        const named = join(rig.files, basename(path).replace('.csv', `_${passed}.csv`))
        linkSync(path, named)
        return named
      })
      for (const pid of [...nodePids, clickhouse?.pid()]) resetPeak(pid)
      const from = performance.now()
      const arrivals = await submission.submitAll(paths)
      const receipts = await Promise.all(arrivals.map((one) => follow(submission, one.arrival)))
      const seconds = (performance.now() - from) / 1_000
      for (const [at, { rows }] of files.entries()) prove(receipts[at], rows)
      for (const table of tables) await rig.store.command({ sql: `TRUNCATE TABLE ${table} SYNC` })
      return {
        seconds,
        nodeMb: Math.max(...nodePids.map((pid) => peakMb(pid) ?? 0)),
        engineMb: peakMb(clickhouse?.pid()) ?? 0,
      }
    },
    close: () => submission.close(),
  }
}

async function follow(submission: Submission, arrival: number): Promise<Receipt | undefined> {
  let receipt: Receipt | undefined
  for await (const progress of submission.follow(arrival)) receipt = progress.receipt
  return receipt
}

function prove(receipt: Receipt | undefined, rows: number): void {
  if (receipt?.status === 'published' && receipt.rows.accepted === rows) return
  throw new Error(`not all of ${rows} rows were published: ${JSON.stringify(receipt)}`)
}

/** Seconds in which processes of their own read the files one after the other. */
async function parseAlone(files: readonly FeedFile[]): Promise<number> {
  let seconds = 0
  for (const { path, rows } of files) {
    const answer = await runParser(path, 'fast-csv')
    if (answer.rows !== rows) throw new Error(`fast-csv saw ${answer.rows} rows of ${rows}`)
    seconds += answer.seconds
  }
  return seconds
}
