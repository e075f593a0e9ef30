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

export interface CheckOptions {
  /** Print receipts and bad rows as JSON rather than as tables. */
  readonly json: boolean
}

/**
 * Judges files as the receiver would, where they lie and without any server, and prints the receipts
 * that they would get and their first bad rows. The exit code is 2 when one would be quarantined.
 */
export async function check(
  context: Context,
  files: readonly string[],
  options: CheckOptions,
): Promise<number> {
  const profilePath = profilePathOf(context.profilePath, context.homePath)
  const profile = readProfile(profilePath)
  context.say(`judging by the profile ${profilePath}`)
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

/** A file itself; of a folder all files in it that a source would take, by name. */
function filesIn(path: string): readonly string[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path]
  const names = readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isFile() && isToBeTaken(entry.name))
    .map((entry) => join(path, entry.name))
    .sort()
  if (names.length > 0) return names
  throw new Fault('CONFIG', `${path} holds no file to check`)
}
