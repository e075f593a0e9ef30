import { statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename } from 'node:path'
import { type Checked, check as checkFile } from '../../pipeline/check.js'
import { type Context, exitCodes } from '../context.js'
import { profilePathOf, readProfile } from '../profile-file.js'
import { createBar } from '../progress.js'
import { renderChecked } from '../receipts.js'

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
  const checked: Checked[] = []
  let rowsBefore = 0
  try {
    for (const file of files) {
      const bytesTotal = statSync(file, { throwIfNoEntry: false })?.size ?? 0
      const result = await checkFile(file, {
        profile,
        folder: tmpdir(),
        now: () => new Date(),
        signal: context.ending,
        onProgress: ({ bytes, rows }) =>
          bar.update({
            bytesDone: bytes,
            bytesTotal,
            rowsLoaded: rowsBefore + rows,
            status: basename(file),
          }),
      })
      rowsBefore += result.receipt.rows.read
      checked.push(result)
    }
  } finally {
    bar.stop()
  }
  context.print(options.json ? JSON.stringify(checked, undefined, 2) : renderChecked(checked))
  const isGood = checked.every(({ receipt }) => receipt.status === 'published')
  return isGood ? exitCodes.good : exitCodes.quarantined
}
