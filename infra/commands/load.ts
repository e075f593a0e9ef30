import { accessSync, constants, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { Submission } from '../../pipeline/intake/submit.js'
import { arrivalPaths } from '../../pipeline/ledger/outbox.js'
import { Fault } from '../../schemas/fault.js'
import type { Receipt } from '../../schemas/receipt.js'
import type { Home } from '../stack/home.js'
import { type Context, exitCodes } from './context.js'
import { type Arriving, followFiles } from './output/follow.js'
import { type EndedFile, renderEnded } from './output/receipts.js'
import { useStack } from './use-stack.js'

export interface LoadOptions {
  /** Load files again that are already published. */
  readonly again: boolean
  /** Print the receipts as JSON instead of a table. */
  readonly json: boolean
}

/**
 * Submits complete files, waits until each is finished and prints the receipts. The exit code is 0
 * when all are published or duplicate, 2 when one is not.
 */
export async function loadCommand(
  context: Context,
  files: readonly string[],
  options: LoadOptions,
): Promise<number> {
  const paths = files.map(readable)
  const { again } = options
  const submitted: string[] = []
  let arrivals: ReturnType<Submission['submitAll']> | undefined
  const toArriving = (path: string, at: number): Arriving => ({
    name: basename(path),
    bytes: statSync(path).size,
    arrive: async (submission) => {
      arrivals ??= submission.submitAll(paths, { again })
      const { arrival } = (await arrivals)[at] as { readonly arrival: number }
      submitted.push(`${path}, arrival ${arrival}`)
      return arrival
    },
  })
  const report = () => context.say(describeSubmitted(submitted))
  context.ending.addEventListener('abort', report, { once: true })
  const ended = await useStack(context, 'load', async (stack) => {
    const followed = await followFiles(stack, paths.map(toArriving), context.say)
    return followed.map(({ arrival, receipt }) => withPaths(stack.home, arrival, receipt))
  })
  context.ending.removeEventListener('abort', report)
  context.print(options.json ? JSON.stringify(ended, undefined, 2) : renderEnded(ended))
  const good = ended.every(({ status }) => status === 'published' || status === 'duplicate')
  return good ? exitCodes.good : exitCodes.quarantined
}

/** The notice after Ctrl-C: the files are loaded without this command. */
function describeSubmitted(submitted: readonly string[]): string {
  if (submitted.length === 0) return 'no file was submitted'
  return [
    'submitted; the running stack or the next one on this data folder loads:',
    ...submitted.map((one) => `  ${one}`),
    'leave the files in place until tieline status shows that they are finished',
  ].join('\n')
}

function withPaths(home: Home, arrival: number, receipt: Receipt): EndedFile {
  const named = { arrival, fileName: receipt.fileName }
  const { receipt: receiptPath, rejects } = arrivalPaths(home.outbox, named)
  const hasRejects = receipt.status !== 'duplicate' && receipt.rows.rejected > 0
  return { ...receipt, receiptPath, ...(hasRejects && { rejectsPath: rejects }) }
}

/** The absolute path of a file that can be read. Throws `CONFIG` or `PERMISSION`. */
function readable(file: string): string {
  const path = resolve(file)
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) {
    throw new Fault('CONFIG', `${file} is not a file; name an existing file`)
  }
  try {
    accessSync(path, constants.R_OK)
  } catch (cause) {
    throw new Fault(
      'PERMISSION',
      `${file} is not readable for this user; run chmod or chown on it`,
      { cause },
    )
  }
  return path
}
