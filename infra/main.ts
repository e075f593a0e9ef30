#!/usr/bin/env node
import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import type { TlsFiles } from '../pipeline/tls-files.js'
import { Fault, faultCodes } from '../schemas/fault.js'
import { addMaintenance } from './commands/add-maintenance.js'
import { addReading } from './commands/add-reading.js'
import { addSetup } from './commands/add-setup.js'
import { type Context, exitCodes } from './commands/context.js'
import { untilTaken, watchOutput } from './commands/output/drain.js'
import { packageVersion } from './package-root.js'
import { createSecretReader } from './stack/secrets.js'
import { readTracing } from './telemetry/tracing.js'

interface GlobalOptions {
  readonly home: string
  readonly profile?: string
  readonly debug: boolean
}

const env = process.env
// An empty variable counts as unset, as everywhere.
for (const name of ['TIELINE_HOME', 'TIELINE_PROFILE']) if (env[name] === '') delete env[name]
const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!ending.signal.aborted) process.stderr.write('\nstopping\n')
    ending.abort(new Error(`ended by ${signal}`))
  })
}

const outputFailure = watchOutput(ending)

const program = new Command('tieline')
  .description("Load a utility's files into ClickHouse and serve login, customer and bind.")
  .version(packageVersion())
  .configureHelp({ showGlobalOptions: true })
  .addOption(
    new Option('--home <dir>', 'data folder')
      .env('TIELINE_HOME')
      .default('./data', './data')
      .argParser(toPath),
  )
  .addOption(
    new Option(
      '--profile <file>',
      "the utility's profile (YAML); default: the last one used with the data folder, or the demo's",
    )
      .env('TIELINE_PROFILE')
      .argParser(toPath),
  )
  .option('--debug', 'print the stack trace of an error', false)
  .addHelpText(
    'after',
    `
Without CLICKHOUSE_URL and REDIS_URL, Tieline runs both servers as child processes with their
data in the data folder. To start:
  tieline demo                        run everything with a demo utility's files
  tieline load ACME_04012026_Electric.csv
  tieline sql "SELECT count() FROM usage"`,
  )

program
  .command('up')
  .description('run everything on this machine until Ctrl-C')
  .option('--clickhouse-port <port>', 'port to try first, default 8123', toPort)
  .option('--redis-port <port>', 'port to try first, default 6379', toPort)
  .action(run(async () => (await import('./commands/up.js')).up))
program
  .command('load')
  .description('load files, wait for them and print their receipts')
  .argument('<file...>', 'complete files, <CompanyCode>_<DDMMYYYY>_<Feed>.csv, .csv.gz or .zip')
  .option('--again', 'load files again that are already published', false)
  .option('--json', 'print the receipts as JSON', false)
  .addHelpText(
    'after',
    '\nExit code: 0 all published or duplicate, 2 a file was quarantined, 1 error.',
  )
  .action(run(async () => (await import('./commands/load.js')).loadCommand))
program
  .command('register')
  .description('register customers so that their reads can be attributed to them')
  .argument(
    '<file>',
    "customers in the gateway's JSON format: one object, one per line, or an array",
  )
  .addOption(
    new Option('--required <which>', 'the required fields, instead of cis.required').choices([
      'full',
      'launchMinimum',
    ]),
  )
  .option('--json', 'print the summary as JSON', false)
  .addHelpText('after', '\nExit code: 0 all registered, 1 invalid record or error.')
  .action(run(async () => (await import('./commands/register.js')).registerCommand))
program
  .command('check')
  .description('validate files in a temporary store and report rejected rows')
  .argument('<file...>', '<CompanyCode>_<DDMMYYYY>_<Feed>.csv, .csv.gz or .zip')
  .option('--json', 'print the receipts and the first rejected rows as JSON', false)
  .addHelpText(
    'after',
    `
A check judges files as a load into an empty store would. It knows no stored rows and contacts no
server; CLICKHOUSE_URL and REDIS_URL are ignored. Its engine runs in a folder under TMPDIR, which is
removed at the end.

Exit code: 0 all files pass, 2 a file would be quarantined, 1 error.`,
  )
  .action(run(async () => (await import('./commands/check.js')).checkCommand))
program
  .command('bill')
  .description('compute the bills of one period of a billing cycle from usage and rates')
  .requiredOption('--cycle <id>', 'billing cycle')
  .option('--period <start>', 'first day of the period; default: the latest period that has ended')
  .option('--as-of <instant>', 'use the reads as stored at that time, such as 2026-02-05T12:00:00Z')
  .option('--json', 'print the summary as JSON', false)
  .action(run(async () => (await import('./commands/bill.js')).billCommand))
program
  .command('compare')
  .description('compare the last 12 months of each meter under every rate')
  .option('--cycle <id>', 'compare the meters of this billing cycle; default: all cycles')
  .option('--json', 'print the summary as JSON', false)
  .action(run(async () => (await import('./commands/compare.js')).compareCommand))
program
  .command('explain')
  .description('explain one bill: lines, reads, and why it differs from the billed amount')
  .requiredOption('--account <number>', 'contract account')
  .requiredOption('--period <start>', 'first day of the bill')
  .option('--json', 'print the bill as JSON', false)
  .action(run(async () => (await import('./commands/explain.js')).explainCommand))
addReading(program, run)
program
  .command('status')
  .description('show files by status, sources, queues, data freshness and bills of each cycle')
  .option('--json', 'print as JSON', false)
  .action(run(async () => (await import('./commands/status.js')).status))
for (const [act, what] of [
  ['retry', 'validate a quarantined file again after its cause is fixed'],
  ['accept', 'publish the valid rows of a quarantined file with too many rejected rows'],
] as const) {
  program
    .command(act)
    .description(what)
    .argument('<file>', 'file name or arrival number')
    .addHelpText('after', '\nExit code: 0 published, 2 quarantined or duplicate, 1 error.')
    .action(run(async () => (await import('./commands/reprocess.js')).reprocessCommand(act)))
}
program
  .command('pause')
  .description('stop polling a source')
  .argument('<source>', 'name of the source in the profile')
  .action(run(async () => (await import('./commands/pause.js')).pause))
program
  .command('resume')
  .description('poll a paused or failing source again')
  .argument('<source>', 'name of the source in the profile')
  .action(run(async () => (await import('./commands/pause.js')).resume))
program
  .command('unregister')
  .description('end the registrations of customers who have left the platform')
  .argument('<clientIds...>', 'the permanent client identifiers')
  .addHelpText(
    'after',
    '\nNothing is erased. The next customer call of a client registers him again.',
  )
  .action(run(async () => (await import('./commands/unregister.js')).unregisterCommand))
program
  .command('unlock')
  .description('unlock a customer after three failed attempts, or all customers')
  .argument('[clientId]', 'the permanent client identifier')
  .option(
    '--all',
    'unlock all customers, for example after a fault of the identity provider',
    false,
  )
  .option('--since <instant>', 'with --all: only those locked since, such as 2026-11-22T14:00:00Z')
  .action(run(async () => (await import('./commands/unlock.js')).unlockCommand))
program
  .command('probe')
  .description(
    'test one call to the identity provider, CIS, head-end, MDM or alert receiver of the profile',
  )
  .addArgument(
    new Argument('<what>', 'the system to test').choices([
      'login',
      'customer',
      'bind',
      'backfill',
      'alert',
    ]),
  )
  .argument(
    '[subject]',
    'login: a file with a token; customer: a clientId; bind: an accountSlid; backfill: a meterId',
  )
  .addHelpText(
    'after',
    '\nExit code: 0 all steps passed, 1 a step failed. A probe changes nothing; alert sends a test message.',
  )
  .action(run(async () => (await import('./commands/probe.js')).probe))
addMaintenance(program, run)
addSetup(program, run, toClusterName)
program
  .command('demo')
  .description("start everything and load a demo utility's files")
  .option('--once', 'exit after the first query', false)
  .action(run(async () => (await import('./commands/demo.js')).demo))

await program.parseAsync()

/**
 * The action of a command: runs it and exits with its exit code when its output was taken. A command is
 * imported when it is run, because to import all commands takes more than a second.
 */
function run<A extends readonly unknown[]>(
  load: () => Promise<(context: Context, ...args: A) => Promise<number>>,
): (...args: A) => Promise<void> {
  return async (...args) => {
    const options = program.opts<GlobalOptions>()
    try {
      const command = await load()
      const code = await command(contextOf(options), ...args)
      const isTaken = await untilTaken(ending.signal)
      const failure = outputFailure()
      if (failure !== undefined) throw failure
      process.exit(isTaken ? code : exitCodes.interrupted)
    } catch (caught) {
      const error = outputFailure() ?? caught
      if (ending.signal.aborted && outputFailure() === undefined)
        process.exit(exitCodes.interrupted)
      process.stderr.write(`tieline: ${textOf(error).replaceAll('\n', '\n  ')}\n`)
      if (options.debug && error instanceof Error) process.stderr.write(`${error.stack}\n`)
      await untilTaken(ending.signal)
      process.exit(exitCodes.fault)
    }
  }
}

/** A fault that passes by itself, as an outage does, has its remedy by its code. */
function textOf(error: unknown): string {
  if (!(error instanceof Fault)) return `unexpected: ${String(error)}`
  return error.retry ? `${error.message}\n${faultCodes[error.code].meaning}` : error.message
}

function contextOf(options: GlobalOptions): Context {
  const { CLICKHOUSE_URL, CLICKHOUSE_READER_URL, REDIS_URL, TIELINE_INSTALL } = env
  return {
    homePath: options.home,
    profilePath: options.profile,
    external: {
      ...(CLICKHOUSE_URL && { clickhouseUrl: CLICKHOUSE_URL }),
      ...(CLICKHOUSE_READER_URL && { clickhouseReaderUrl: CLICKHOUSE_READER_URL }),
      clickhouseTls: tlsFilesOf('CLICKHOUSE'),
      ...(REDIS_URL && { redisUrl: REDIS_URL }),
      redisTls: tlsFilesOf('REDIS'),
    },
    secret: createSecretReader(env),
    tracing: () => readTracing(env),
    installs: TIELINE_INSTALL === '1',
    ending: ending.signal,
    print: (text) => void process.stdout.write(`${text}\n`),
    say: (text) => void process.stderr.write(`${text}\n`),
  }
}

function tlsFilesOf(server: 'CLICKHOUSE' | 'REDIS'): TlsFiles {
  return {
    caFile: env[`${server}_CA_FILE`],
    certFile: env[`${server}_CERT_FILE`],
    keyFile: env[`${server}_KEY_FILE`],
  }
}

function toClusterName(text: string): string {
  if (/^[A-Za-z0-9_-]{1,63}$/.test(text)) return text
  throw new InvalidArgumentError('use up to 63 letters, digits, - and _')
}

function toPath(text: string): string {
  if (text !== '') return text
  throw new InvalidArgumentError('name a folder or file, or omit the option')
}

function toPort(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  throw new InvalidArgumentError('use a port number from 1 to 65535')
}
