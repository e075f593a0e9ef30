import type { Command } from 'commander'
import type { Run } from './add-maintenance.js'

/** Adds the commands for those who read the data, or prepare some. */
export function addReading(program: Command, run: Run): void {
  program
    .command('sql')
    .description('run one query that only reads and print its result')
    .argument('<statement>', 'ClickHouse SQL, for example "SHOW TABLES"')
    .option(
      '--format <name>',
      'any ClickHouse format: JSONEachRow, CSVWithNames ...',
      'PrettyCompact',
    )
    .addHelpText(
      'after',
      '\nReads with the rights of the data folder: also internal tables, and files that the embedded\n' +
        'ClickHouse can read. For other people, tieline reader add gives a user of the published views.',
    )
    .action(run(async () => (await import('./sql.js')).sqlCommand))
  program
    .command('report')
    .description('write the latest bills of a billing cycle as one HTML page with charts')
    .requiredOption('--cycle <id>', 'billing cycle')
    .option(
      '--start <day>',
      'first day of the period; default: the latest period with bills that has ended, else the open one',
    )
    .option('--out <file>', 'default: cycle-<id>-<start>.html in the current folder')
    .addHelpText(
      'after',
      '\nThe page contains account and meter numbers. It loads nothing from other hosts.',
    )
    .action(run(async () => (await import('./report.js')).reportCommand))
  program
    .command('green-button')
    .description("write a client's usage and bills as a Green Button feed (ESPI 4.0)")
    .requiredOption('--client <id>', 'the permanent client identifier')
    .requiredOption('--from <day>', 'first local day, such as 2026-01-01')
    .requiredOption('--to <day>', 'last local day')
    .option('--out <file>', 'file to write, readable by its owner only; default: standard output')
    .action(run(async () => (await import('./green-button.js')).greenButtonCommand))
  program
    .command('connect')
    .description(
      'print how to read this installation with curl, JDBC, Python, Grafana and other tools',
    )
    .action(run(async () => (await import('./connect.js')).connectTools))
  program
    .command('reader')
    .description('give people and programs passwords to read the embedded ClickHouse')
    .argument('<act...>', 'add NAME, list, or remove NAME')
    .option('--audit', 'add: also running statements, login attempts and audit log', false)
    .action(run(async () => (await import('./reader.js')).readerCommand))
  program
    .command('dictionary')
    .description('print the published views and their columns as Markdown')
    .action(run(async () => (await import('./dictionary.js')).dictionary))
  program
    .command('sample')
    .description('write a complete set of valid files of all feeds into a folder, to copy from')
    .argument('<dir>', 'a new or empty folder')
    .action(run(async () => (await import('./sample.js')).sampleCommand))
}
