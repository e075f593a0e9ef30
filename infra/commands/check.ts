import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { check, toEntries } from '../../pipeline/check.js'
import { Fault } from '../../schemas/fault.js'
import { isToBeTaken } from '../../schemas/file-name.js'
import { profilePathOf, readProfile } from '../stack/profile-file.js'
import { withTemporaryStore } from '../stack/temporary-store.js'
import { type Context, exitCodes } from './context.js'
import { createBar } from './output/progress.js'
import { renderChecked } from './output/receipts.js'

export interface CheckCommandOptions {
  /** Print receipts and rejected rows as JSON instead of tables. */
  readonly json: boolean
}

/**
 * Validates files in place as a load into an empty store would, in a store of its own that is removed
 * at the end. Prints their receipts and first rejected rows. The exit code is 2 when a file would be
 * quarantined.
 */
export async function checkCommand(
  context: Context,
  files: readonly string[],
  options: CheckCommandOptions,
): Promise<number> {
  const profilePath = profilePathOf(context.profilePath, context.homePath)
  const profile = readProfile(profilePath)
  context.say(`using profile ${profilePath}`)
  const entries = await toEntries(files.flatMap(filesIn))
  const bar = createBar()
  const { ending } = context
  const checked = await withTemporaryStore({ profile, ending }, (temporary) =>
    check(entries, {
      ...temporary,
      onProgress: ({ fileName, bytes, bytesTotal, rows }) =>
        bar.update({ bytesDone: bytes, bytesTotal, rowsLoaded: rows, status: fileName }),
    }),
  ).finally(bar.stop)
  context.print(options.json ? JSON.stringify(checked, undefined, 2) : renderChecked(checked))
  const isGood = checked.every(({ receipt }) => receipt.status === 'published')
  return isGood ? exitCodes.good : exitCodes.quarantined
}

/** The file itself, or the files of a folder that a source would take, by name. */
function filesIn(path: string): readonly string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path]
  const names = readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isFile() && isToBeTaken(entry.name))
    .map((entry) => join(path, entry.name))
    .sort()
  if (names.length > 0) return names
  throw new Fault('CONFIG', `${path} has no file to check; name a file or another folder`)
}
