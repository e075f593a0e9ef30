import type { Command } from 'commander'
import type { Context } from './context.js'

/** The action of a command that is imported when it is run. */
export type Run = <A extends readonly unknown[]>(
  load: () => Promise<(context: Context, ...args: A) => Promise<number>>,
) => (...args: A) => Promise<void>

/** Adds the commands that look after what is stored and what is open. */
export function addMaintenance(program: Command, run: Run): void {
  program
    .command('dismiss')
    .description('dismiss a problem that status lists, until it occurs again')
    .argument('<name>', 'file, source or system, as status names it')
    .requiredOption('--because <reason>', 'why; recorded in the audit log')
    .action(run(async () => (await import('./dismiss.js')).dismissCommand))
  program
    .command('forget-machine')
    .description('forget a machine whose disk is destroyed, so that nothing waits for it')
    .argument('<id>', 'id of its data folder, as doctor names it')
    .action(run(async () => (await import('./forget-machine.js')).forgetMachineCommand))
  program
    .command('verify')
    .description('compare stored rows and kept files with the ledger, and report what is missing')
    .option('--skip-files', 'do not hash the files in archive and quarantine', false)
    .option('--json', 'print the result as JSON', false)
    .addHelpText(
      'after',
      '\nExit code: 0 everything is there, 1 something is missing or damaged, or error.',
    )
    .action(run(async () => (await import('./verify.js')).verifyCommand))
  program
    .command('repair')
    .description('bring missing rows back from the archive, and name what it does not have')
    .addHelpText(
      'after',
      `
A later correction stays in force, and an erased account stays erased. An interrupted repair is
finished by the next one.

Exit code: 0 everything is there, 1 something is still missing, or error.`,
    )
    .action(run(async () => (await import('./repair.js')).repairCommand))
  program
    .command('backup')
    .description('copy the data folder of a stopped Tieline into a new folder')
    .argument('<folder>', 'new folder for the backup')
    .option('--no-secrets', 'leave out the generated passwords of the embedded servers')
    .action(run(async () => (await import('./backup.js')).backupCommand))
  program
    .command('restore')
    .description('copy a backup into a new data folder, replay erasures and verify it')
    .argument('<folder>', 'folder of the backup')
    .option('--erasures-of <dir>', 'data folder that has the erasures since the backup')
    .addHelpText('after', '\nExit code: 0 restored and verified, 1 something is missing, or error.')
    .action(run(async () => (await import('./backup.js')).restoreCommand))
}
