import { Command, InvalidArgumentError } from 'commander'
import { measureBills } from './bills/bills.js'
import { measureCompare } from './bills/compare.js'
import { measureCosts } from './bills/costs.js'
import { measureCycleDay } from './bills/cycle-day.js'
import { measureNight } from './bills/night.js'
import { measureFeeds } from './feeds.js'
import { measureFormats, measureLargeFormats } from './formats.js'
import { measureHostile } from './gateway/hostile.js'
import { measureGateway } from './gateway/main.js'
import { measureMemory } from './gateway/memory.js'
import { measureMinutes } from './gateway/minutes.js'
import { measureMutual } from './gateway/mutual.js'
import { measureReads } from './gateway/reads.js'
import { measureSlowCis } from './gateway/slow-cis.js'
import { measureGreenButton } from './green-button.js'
import { measureIdle } from './idle.js'
import { measurePage } from './page/page.js'
import { measureQueries } from './queries/queries.js'
import { measureSmallFiles } from './small-files.js'
import { measureSources } from './sources/main.js'
import { measureMonth } from './usage/month.js'
import { measureReplicated } from './usage/replicated.js'
import { measureUsage } from './usage/usage.js'

const print = (line: string) => void process.stdout.write(`${line}\n`)

const program = new Command('bench').description(
  'Each benchmark states its estimate, measures, and prints the ratio.',
)

program
  .command('usage')
  .description('load one day of 15-minute reads: the engine alone, Tieline, and a first attempt')
  .option('--customers <n>', 'meters, each with 96 rows', toCount, 100_000)
  .option('--rounds <n>', 'rounds measured, at least 3', toCount, 3)
  .option('--bad <share>', 'share of unusable rows, 0 to 0.009', toShare, 0)
  .option('--growth', 'also measure Tieline with 30,000 meters, interleaved', false)
  .option('--clock-change', 'also a day of 25 hours, beside the engine alone', false)
  .option(
    '--again',
    'also corrections: the same file again, and three reads of 1,000 meters',
    false,
  )
  .option('--watched', 'also with a browser on the operations page (Chromium)', false)
  .option('--replicas', 'instead: on two replicas in one process, beside one server', false)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    const measure = options.replicas ? measureReplicated : measureUsage
    await measure({ ...options, print })
  })

program
  .command('month')
  .description('load a month of 15-minute reads, each file with all days of some customers')
  .option('--customers <n>', 'meters, each with 2,972 rows', toCount, 100_000)
  .option('--files <n>', 'files of the month', toCount, 15)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureMonth({ ...options, print })
  })

program
  .command('small-files')
  .description('small usage files that wait together, each of meters of its own')
  .option('--files <n>', 'files of a round', toCount, 1_000)
  .option('--rows <n>', 'rows of a file', toCount, 100)
  .option('--rounds <n>', 'rounds measured', toCount, 3)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureSmallFiles({ ...options, print })
  })

program
  .command('feeds')
  .description('load the billing of a cycle day: bills, lines and invoices, beside fast-csv alone')
  .option('--customers <n>', 'bills, each with 8 lines and 3 of an invoice', toCount, 100_000)
  .option('--rounds <n>', 'rounds measured', toCount, 3)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureFeeds({ ...options, print })
  })

program
  .command('formats')
  .description('the same reads in each format of usage files, beside the plain layout')
  .option('--customers <n>', 'meters, each with 96 rows', toCount, 20_000)
  .option('--rounds <n>', 'rounds measured', toCount, 3)
  .option('--gigabytes <n>', 'instead: one file of this size in each, and its memory', toCount)
  .option('--json <file>', 'write the figures to a file')
  .action(async ({ gigabytes, ...options }) => {
    if (gigabytes === undefined) await measureFormats({ ...options, print })
    else await measureLargeFormats({ ...options, gigabytes, print })
  })

program
  .command('bills')
  .description('bill a cycle with 30 days of 15-minute reads, beside the sum of the same rows')
  .option('--customers <n>', 'meters, each with 2,880 rows', toCount, 100_000)
  .option('--rounds <n>', 'rounds measured', toCount, 3)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureBills({ ...options, print })
  })

program
  .command('night')
  .description('project small cycles with the same days, as in a night, beside one alone')
  .option('--cycles <n>', 'how many', toCount, 4_000)
  .option('--customers <n>', 'meters of each cycle, with 1,440 rows each', toCount, 25)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureNight({ ...options, print })
  })

program
  .command('costs')
  .description('bill a cycle, then add up what each of its days and intervals cost')
  .option('--customers <n>', 'meters, each with 2,880 rows', toCount, 100_000)
  .option('--rounds <n>', 'rounds measured', toCount, 3)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureCosts({ ...options, print })
  })

program
  .command('compare')
  .description('compare 40 rates over 12 periods of a cycle, beside a sum of the same reads')
  .option('--customers <n>', 'meters', toCount, 100_000)
  .option('--interval <n>', 'seconds of a read', toCount, 3_600)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureCompare({ ...options, print })
  })

program
  .command('cycle-day')
  .description(
    'a whole day of a cycle: its files from the inbox, then its bills and their variance',
  )
  .option('--customers <n>', 'customers, each with a meter of 15-minute reads', toCount, 100_000)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureCycleDay({ ...options, print })
  })

program
  .command('gateway')
  .description('login and customer beside a bare server, jose alone and Fastify; needs wrk')
  .option('--rounds <n>', 'rounds measured', toCount, 3)
  .option(
    '--tokens <n>',
    'tokens signed beforehand (default: 100000; 200000 for --memory)',
    toCount,
  )
  .option('--seconds <n>', 'length of a round of one server', toCount, 8)
  .option('--connections <n>', 'connections at once', toCount, 64)
  .option('--memory', 'instead: memory over many requests with more tokens than are remembered')
  .option('--requests <n>', 'requests that --memory sends', toCount, 2_000_000)
  .option('--hostile', 'instead: login beside 1,000 hostile requests a second')
  .option('--slow-cis', 'instead: login beside 2,000 customer calls at once, the CIS slow')
  .option('--mutual', 'instead: login, customer and bind over TLS with a client certificate')
  .option('--minutes <n>', 'instead: memory and p99 of each of some minutes, at least 3', toCount)
  .option('--reads', 'instead: a year of days of random customers at 50 requests a second')
  .option('--customers <n>', 'customers of --reads, with 13 months of days', toCount, 100_000)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    if (options.reads) return void (await measureReads({ ...options, print }))
    const measure = options.memory
      ? measureMemory
      : options.mutual
        ? measureMutual
        : options.minutes
          ? measureMinutes
          : options.hostile
            ? measureHostile
            : options.slowCis
              ? measureSlowCis
              : measureGateway
    const tokens = options.tokens ?? (options.memory ? 200_000 : 100_000)
    await measure({ ...options, tokens, print })
  })

program
  .command('green-button')
  .description('export hourly reads of a client with many meters, and of one with a tenth of them')
  .option('--meters <n>', 'meters of the client', toCount, 10_000)
  .option('--months <n>', 'months of reads and bills, the last one October 2026', toCount, 13)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureGreenButton({ ...options, print })
  })

program
  .command('sources')
  .description('fetch one usage file by SFTP beside sftp -b, and from S3 beside the SDK alone')
  .option('--customers <n>', 'meters, each with 96 rows', toCount, 100_000)
  .option('--rounds <n>', 'rounds measured', toCount, 3)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureSources({ ...options, print })
  })

program
  .command('idle')
  .description('a stack with nothing to do, beside its two servers alone')
  .option('--minutes <n>', 'minutes of each', toCount, 5)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureIdle({ ...options, print })
  })

program
  .command('page')
  .description('the operations page over a ledger of a year, many jobs and two weeks of reads')
  .option('--files <n>', 'files in the ledger', toCount, 20_000)
  .option('--jobs <n>', 'jobs in Redis', toCount, 100_000)
  .option('--meters <n>', 'registered meters, each with 96 reads a day', toCount, 35_000)
  .option('--rounds <n>', 'rounds measured', toCount, 9)
  .action(async (options) => {
    await measurePage({ ...options, print })
  })

program
  .command('queries')
  .description('each query of the guide as a reader, and again over a tenth of the customers')
  .option('--customers <n>', 'customers, each with a meter of hourly reads', toCount, 20_000)
  .option('--months <n>', 'months of reads and bills, the last one October 2026', toCount, 13)
  .option('--rounds <n>', 'rounds measured', toCount, 3)
  .option('--json <file>', 'write the figures to a file')
  .action(async (options) => {
    await measureQueries({ ...options, print })
  })

await program.parseAsync()

function toCount(text: string): number {
  const count = Number(text.replaceAll('_', ''))
  if (Number.isInteger(count) && count > 0) return count
  throw new InvalidArgumentError('use a whole number above 0')
}

function toShare(text: string): number {
  const share = Number(text)
  if (share >= 0 && share < 0.01) return share
  throw new InvalidArgumentError('use a share below 0.01; above it a file is quarantined')
}
