import { readdirSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Checked } from '../../pipeline/check/checking.js'
import { checkAll } from '../../pipeline/check/set.js'
import { Fault } from '../../schemas/fault.js'
import { isToBeTaken } from '../../schemas/file-name.js'
import { profilePathOf, readProfile } from '../stack/profile-file.js'
import { type Context, exitCodes } from './context.js'
import { createBar } from './output/progress.js'
import { renderChecked } from './output/receipts.js'

export interface CheckCommandOptions {
  /** Print receipts and rejected rows as JSON instead of tables. */
  readonly json: boolean
}

/**
 * Validates files in place with the rules of the receiver and without a server. Prints their
 * receipts and first rejected rows. The exit code is 2 when a file would be quarantined.
 */
export async function checkCommand(
  context: Context,
  files: readonly string[],
  options: CheckCommandOptions,
): Promise<number> {
  const profilePath = profilePathOf(context.profilePath, context.homePath)
  const profile = readProfile(profilePath)
  context.say(`using profile ${profilePath}`)
  const bar = createBar()
  const paths = files.flatMap(filesIn)
  let rowsBefore = 0
  let rowsDone = 0
  const checked = await checkAll(paths, profile, (path) => {
    const bytesTotal = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    rowsBefore += rowsDone
    rowsDone = 0
    return {
      profile,
      folder: tmpdir(),
      now: () => new Date(),
      signal: context.ending,
      onProgress: ({ bytes, rows }) => {
        rowsDone = rows
        const rowsLoaded = rowsBefore + rows
        bar.update({ bytesDone: bytes, bytesTotal, rowsLoaded, status: basename(path) })
      },
    }
  }).finally(bar.stop)
  context.print(
    options.json ? JSON.stringify(checked.map(shown), undefined, 2) : renderChecked(checked),
  )
  const isGood = checked.every(({ receipt }) => receipt.status === 'published')
  return isGood ? exitCodes.good : exitCodes.quarantined
}

function shown({ receipt, badRows }: Checked) {
  return { receipt, badRows }
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
