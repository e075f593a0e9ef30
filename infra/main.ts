#!/usr/bin/env node
import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import { Fault } from '../schemas/fault.js'
import { type Context, exitCodes } from './commands/context.js'
import { packageVersion } from './package-root.js'
import { createSecretReader } from './stack/secrets.js'
import { readTracing } from './telemetry/tracing.js'

interface GlobalOptions {
  readonly home: string
  readonly profile?: string
  readonly debug: boolean
}

const env = process.env
const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    if (!ending.signal.aborted) process.stderr.write('\nstopping\n')
    ending.abort(new Error(`ended by ${signal}`))
  })
}

// A reader that has gone, such as head, ends a command as Ctrl-C does.
process.stdout.on('error', (error) => ending.abort(error))

const program = new Command('tieline')
  .description("Loads a utility's files into ClickHouse, and answers login, customer and bind.")
  .version(packageVersion())
  .configureHelp({ showGlobalOptions: true })
  .addOption(
    new Option('--home <dir>', 'data folder').env('TIELINE_HOME').default('./data', './data'),
  )
  .addOption(
    new Option(
      '--profile <file>',
      "the utility's profile (YAML); without it the one that the data folder was last started with, else the demo's",
    ).env('TIELINE_PROFILE'),
  )
  .option('--debug', 'show where an error comes from', false)
  .addHelpText(
    'after',
    `
Without CLICKHOUSE_URL and REDIS_URL both servers are run here, as child processes, with their
data in the data folder. Start with:
  tieline demo                        everything, with a demo utility's files
  tieline load ACME_04012026_Electric.csv
  tieline sql "SELECT count() FROM usage"`,
  )

program
  .command('up')
  .description('run everything on this machine until Ctrl-C')
  .option('--clickhouse-port <port>', 'port to try first, default 8123', toPort)
  .option('--redis-port <port>', 'port to try first, default 6379', toPort)
  .action((options) =>
    run(async (context) => (await import('./commands/up.js')).up(context, options)),
  )
program
  .command('load')
  .description('load files, wait for them and print their receipts')
  .argument('<file...>', 'finished files, <CompanyCode>_<DDMMYYYY>_<Feed>.csv, .csv.gz or .zip')
  .option('--again', 'load files again that are published already', false)
  .option('--json', 'print the receipts as JSON', false)
  .addHelpText('after', '\nExit code: 0 all published or duplicate, 2 one quarantined, 1 a fault.')
  .action((files, options) =>
    run(async (context) => (await import('./commands/load.js')).load(context, files, options)),
  )
program
  .command('register')
  .description('make customers known, so that their reads are found to be theirs')
  .argument('<file>', "customers as the gateway's JSON: one object, or one on each line")
  .addOption(
    new Option('--required <which>', 'fields that a record must have')
      .choices(['full', 'launchMinimum'])
      .default('full'),
  )
  .option('--json', 'print the summary as JSON', false)
  .addHelpText('after', '\nExit code: 0 all registered, 1 a bad record or a fault.')
  .action((file, options) =>
    run(async (context) =>
      (await import('./commands/register.js')).register(context, file, options),
    ),
  )
program
  .command('check')
  .description('say what would become of files, row by row, without any server')
  .argument('<file...>', '<CompanyCode>_<DDMMYYYY>_<Feed>.csv, .csv.gz or .zip')
  .option('--json', 'print the receipts and the first bad rows as JSON', false)
  .addHelpText('after', '\nExit code: 0 all good, 2 one would be quarantined, 1 a fault.')
  .action((files, options) =>
    run(async (context) => (await import('./commands/check.js')).check(context, files, options)),
  )
program
  .command('bill')
  .description("compute the bills of a cycle's period from usage and rates")
  .requiredOption('--cycle <id>', 'billing cycle')
  .option('--period <start>', 'first day of the period; without it the latest that has ended')
  .option('--as-of <instant>', 'take reads as they were known then, 2026-02-05T12:00:00Z')
  .option('--json', 'print the summary as JSON', false)
  .action((options) =>
    run(async (context) => (await import('./commands/bill.js')).bill(context, options)),
  )
program
  .command('compare')
  .description('tell what the last 12 months of each meter would have cost under every rate')
  .option('--cycle <id>', 'billing cycle whose meters are meant; without it all of them')
  .option('--json', 'print the summary as JSON', false)
  .action((options) =>
    run(async (context) => (await import('./commands/compare.js')).compare(context, options)),
  )
program
  .command('explain')
  .description('tell one bill: lines, reads, and why another was billed')
  .requiredOption('--account <number>', 'contract account')
  .requiredOption('--period <start>', 'first day of the bill')
  .option('--json', 'print the bill as JSON', false)
  .action((options) =>
    run(async (context) => (await import('./commands/explain.js')).explain(context, options)),
  )
program
  .command('sql')
  .description('run one query as the reader and print its result')
  .argument('<statement>', 'ClickHouse SQL, for example "SHOW TABLES"')
  .option(
    '--format <name>',
    'any ClickHouse format: JSONEachRow, CSVWithNames ...',
    'PrettyCompact',
  )
  .action((statement, options) =>
    run(async (context) => (await import('./commands/sql.js')).sql(context, statement, options)),
  )
program
  .command('status')
  .description('files by state, sources, queues, freshness of the data, bills of each cycle')
  .option('--json', 'print as JSON', false)
  .action((options) =>
    run(async (context) => (await import('./commands/status.js')).status(context, options)),
  )
for (const [act, what] of [
  ['retry', 'judge a quarantined file once more, after what was wrong has been mended'],
  ['accept', 'publish the good rows of a file that has too many rejected ones'],
] as const) {
  program
    .command(act)
    .description(what)
    .argument('<file>', 'its name, or the number of its arrival')
    .addHelpText('after', '\nExit code: 0 published, 2 quarantined or a duplicate, 1 a fault.')
    .action((file) =>
      run(async (context) =>
        (await import('./commands/reprocess.js')).reprocess(context, act, file),
      ),
    )
}
program
  .command('pause')
  .description('take nothing new from a source until it is resumed')
  .argument('<source>', 'its name in the profile')
  .action((source) =>
    run(async (context) => (await import('./commands/pause.js')).pause(context, source)),
  )
program
  .command('resume')
  .description('poll a source again that was paused or fails')
  .argument('<source>', 'its name in the profile')
  .action((source) =>
    run(async (context) => (await import('./commands/pause.js')).resume(context, source)),
  )
program
  .command('unlock')
  .description('take away the lock of a customer who had three failed attempts')
  .argument('<clientId>', 'the permanent client identifier')
  .action((clientId) =>
    run(async (context) => (await import('./commands/unlock.js')).unlock(context, clientId)),
  )
program
  .command('probe')
  .description(
    "make one call to the profile's identity provider, CIS, head-end, MDM or receiver of alerts, step by step",
  )
  .addArgument(
    new Argument('<what>', 'which').choices(['login', 'customer', 'bind', 'backfill', 'alert']),
  )
  .argument(
    '[subject]',
    'login: a file with a token; customer: a clientId; bind: an accountSlid; backfill: a meterId',
  )
  .addHelpText(
    'after',
    '\nExit code: 0 all is well, 1 a step failed. Nothing is changed anywhere; alert sends a test.',
  )
  .action((what, subject) =>
    run(async (context) => (await import('./commands/probe.js')).probe(context, what, subject)),
  )
program
  .command('password')
  .description('read a password from standard input, print its line for users of a profile')
  .action(() =>
    run(async (context) =>
      (await import('./commands/password.js')).password(context, process.stdin),
    ),
  )
program
  .command('doctor')
  .description('check what is installed, reachable and configured, without starting anything')
  .action(() => run(async (context) => (await import('./commands/doctor.js')).doctor(context)))
program
  .command('ddl')
  .description("print the statements that make the profile's database")
  .option('--cluster <name>', 'for a replicated and sharded cluster of this name', toClusterName)
  .option('--grants', 'print the statements that make a role for readers instead', false)
  .option('--definer <user>', 'the user that Tieline works as on the server', toUserName, 'tieline')
  .action((options) =>
    run(async (context) => (await import('./commands/ddl.js')).ddl(context, options)),
  )
program
  .command('dictionary')
  .description('print the published views with what each column holds, as Markdown')
  .action(() =>
    run(async (context) => (await import('./commands/dictionary.js')).dictionary(context)),
  )
program
  .command('demo')
  .description("start everything and load a demo utility's files")
  .option('--once', 'end after the first query instead of running on', false)
  .action((options) =>
    run(async (context) => (await import('./commands/demo.js')).demo(context, options)),
  )

await program.parseAsync()

/**
 * Runs a command with its surroundings and ends the process with its exit code. Each command loads
 * its own modules when it is run: all of them together take more than a second.
 */
async function run(command: (context: Context) => Promise<number>): Promise<void> {
  const options = program.opts<GlobalOptions>()
  try {
    process.exit(await command(surroundings(options)))
  } catch (error) {
    if (ending.signal.aborted) process.exit(exitCodes.interrupted)
    const text = error instanceof Fault ? error.message : `unexpected: ${String(error)}`
    process.stderr.write(`tieline: ${text.replaceAll('\n', '\n  ')}\n`)
    if (options.debug && error instanceof Error) process.stderr.write(`${error.stack}\n`)
    process.exit(exitCodes.fault)
  }
}

function surroundings(options: GlobalOptions): Context {
  const { CLICKHOUSE_URL, CLICKHOUSE_READER_URL, REDIS_URL, TIELINE_INSTALL } = env
  return {
    homePath: options.home,
    profilePath: options.profile,
    external: {
      ...(CLICKHOUSE_URL && { clickhouseUrl: CLICKHOUSE_URL }),
      ...(CLICKHOUSE_READER_URL && { clickhouseReaderUrl: CLICKHOUSE_READER_URL }),
      ...(REDIS_URL && { redisUrl: REDIS_URL }),
    },
    secret: createSecretReader(env),
    tracing: () => readTracing(env),
    installs: TIELINE_INSTALL === '1',
    ending: ending.signal,
    print: (text) => void process.stdout.write(`${text}\n`),
    say: (text) => void process.stderr.write(`${text}\n`),
  }
}

function toClusterName(text: string): string {
  if (/^[A-Za-z0-9_-]{1,63}$/.test(text)) return text
  throw new InvalidArgumentError('use up to 63 letters, digits, - and _')
}

function toUserName(text: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]{0,62}$/.test(text)) return text
  throw new InvalidArgumentError('use up to 63 letters, digits and _, no digit first')
}

function toPort(text: string): number {
  const port = Number(text)
  if (Number.isInteger(port) && port > 0 && port < 65_536) return port
  throw new InvalidArgumentError('a port is a number from 1 to 65535')
}
