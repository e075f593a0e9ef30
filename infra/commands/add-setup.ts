import type { Command } from 'commander'
import type { Run } from './add-maintenance.js'

/** Adds the commands that set up and check an installation; `toClusterName` judges an option. */
export function addSetup(
  program: Command,
  run: Run,
  toClusterName: (text: string) => string,
): void {
  const init = program
    .command('init')
    .description('write a profile from flags or answers, never over a file, and run doctor on it')
  addAnswers(init)
    .addHelpText(
      'after',
      `
Writes --profile, by default <company code>.yaml. Asks for what the flags leave open if --company,
--time-zone or what they depend on is missing and standard input is a terminal.

Exit code: that of doctor; 1 if nothing was written.`,
    )
    .action(run(async () => (await import('./init.js')).init))
  program
    .command('propose')
    .description('propose the section of a profile that reads sample files, and judge them by it')
    .argument('<sample...>', 'usage files of one layout: CSV, NEM12, Green Button; packed or not')
    .option('--time-zone <name>', 'time zone of the meters; default: that of --profile')
    .option('--commodity <name>', 'Electric or Gas, where the samples do not show it')
    .option(
      '--answer <setting=value>',
      'answer a question, or change a setting; repeatable',
      collect,
      [],
    )
    .option('--out <file>', 'write the section into a new file too')
    .option('--json', 'print the result as JSON', false)
    .addHelpText(
      'after',
      `
Says why each setting is proposed. What the samples do not show is a question: answer it and run the command
again. "none" leaves a setting out. Contacts no server and stores nothing.

Exit code: 0 all is decided and every row is accepted, 2 a question is open or rows are rejected, 1 error.`,
    )
    .action(run(async () => (await import('./propose.js')).proposeCommand))
  const onboard = program
    .command('onboard')
    .description('go from sample files to a profile and a first load into a staging database')
    .argument('<sample...>', 'usage files of one layout')
    .option('--commodity <name>', 'Electric or Gas, where the samples do not show it')
    .option('--answer <setting=value>', 'answer a question of propose; repeatable', collect, [])
  addAnswers(onboard)
    .addHelpText(
      'after',
      `
Runs init, propose, doctor and a first load; --profile is needed. Asks on a terminal, otherwise prints what is
open. Run it again to continue: answers are kept in <profile>.answers.yaml.

Exit code: 0 the staging database has all reads of the samples, 2 a question is open or rows are rejected,
1 error.`,
    )
    .action(run(async () => (await import('./onboard.js')).onboard))
  program
    .command('password')
    .description(
      'read a password from standard input and print its hash for the users of a profile',
    )
    .action(run(async () => (await import('./password.js')).password))
  program
    .command('rates')
    .description('write rate files from other sources')
    .command('import')
    .description('write rate files from JSON of the open rate database, and name what they lack')
    .argument('<file>', 'an answer of the OpenEI utility rate database, with all details')
    .requiredOption('--company <code>', 'company code, the first part of file names')
    .option('--out <dir>', 'folder for the files', '.')
    .option('--code <label=code...>', 'rate code of an entry; default: its label', [])
    .option('--date <day>', 'date in the names of the files; default: today in UTC')
    .option('--from <day>', 'first day of entries without startdate')
    .option(
      '--until <day>',
      'last day of prices that change within the year, for entries without enddate; default: the end of the next year',
    )
    .option('--json', 'print the result as JSON', false)
    .addHelpText(
      'after',
      `
Prints what the bills under each rate will lack, such as demand charges, and what the linter finds.
Contacts no server and writes over no file.

Exit code: 0 all entries imported, 2 an entry was left out or nothing was written, 1 error.`,
    )
    .action(run(async () => (await import('./rates.js')).ratesImport))
  program
    .command('doctor')
    .description('check the installation, servers and configuration without starting anything')
    .action(run(async () => (await import('./doctor.js')).doctor))
  program
    .command('migrate')
    .description("create or upgrade the profile's database on the server of CLICKHOUSE_URL")
    .option('--cluster <name>', 'on all replicas of this cluster', toClusterName)
    .action(run(async () => (await import('./migrate.js')).migrateStore))
  program
    .command('ddl')
    .description("print the statements that create the profile's database")
    .option('--cluster <name>', 'for the replicas of this cluster', toClusterName)
    .option('--grants', 'print the statements that create a role for readers instead', false)
    .action(run(async () => (await import('./ddl.js')).ddl))
}

/** An option that may be given several times. */
function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value]
}

/** The options that answer the questions of `init`. */
function addAnswers(command: Command): Command {
  return command
    .option('--company <code>', 'company code, the first part of file names; several: A,B')
    .option('--time-zone <name>', 'time zone of the meters, such as America/Detroit')
    .option(
      '--source <where>',
      'a folder, sftp://user@host/path, ftp://user@host/path or s3://bucket/prefix/; default: inbox',
    )
    .option('--host-key <fingerprint>', "of the SFTP server's key: SHA256:...")
    .option('--issuer <url>', 'issuer of the OpenID provider; default: no gateway')
    .option('--audience <name>', 'audience of its tokens; default: tieline')
    .option('--cis <url>', 'address of the CIS')
}
