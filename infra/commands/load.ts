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
  /** Load files again that are published already. */
  readonly again: boolean
  /** Print the receipts as JSON rather than as a table. */
  readonly json: boolean
}

/**
 * Hands files over as finished, waits until each is settled and prints the receipts. The exit code
 * is 0 when all are published or duplicate, 2 when one is not.
 */
export async function load(
  context: Context,
  files: readonly string[],
  options: LoadOptions,
): Promise<number> {
  const paths = files.map(readable)
  const { again } = options
  const handed: string[] = []
  let arrivals: ReturnType<Submission['submitAll']> | undefined
  const toArriving = (path: string, at: number): Arriving => ({
    name: basename(path),
    bytes: statSync(path).size,
    arrive: async (submission) => {
      arrivals ??= submission.submitAll(paths, { again })
      const { arrival } = (await arrivals)[at] as { readonly arrival: number }
      handed.push(`${path}, arrival ${arrival}`)
      return arrival
    },
  })
  const told = () => context.say(tellHanded(handed))
  context.ending.addEventListener('abort', told, { once: true })
  const ended = await useStack(context, 'load', async (stack) => {
    const followed = await followFiles(stack, paths.map(toArriving), context.say)
    return followed.map(({ arrival, receipt }) => putAway(stack.home, arrival, receipt))
  })
  context.ending.removeEventListener('abort', told)
  context.print(options.json ? JSON.stringify(ended, undefined, 2) : renderEnded(ended))
  const good = ended.every(({ status }) => status === 'published' || status === 'duplicate')
  return good ? exitCodes.good : exitCodes.quarantined
}

/** What a person who does not wait any longer should know. */
function tellHanded(handed: readonly string[]): string {
  if (handed.length === 0) return 'nothing was handed over'
  return [
    'handed over, and loaded by the stack that runs on this data folder or by the next that does:',
    ...handed.map((one) => `  ${one}`),
    'leave the files where they are until tieline status shows that they have ended',
  ].join('\n')
}

function putAway(home: Home, arrival: number, receipt: Receipt): EndedFile {
  const named = { arrival, fileName: receipt.fileName }
  const { receipt: receiptPath, rejects } = arrivalPaths(home.outbox, named)
  const hasRejects = receipt.status !== 'duplicate' && receipt.rows.rejected > 0
  return { ...receipt, receiptPath, ...(hasRejects && { rejectsPath: rejects }) }
}

/** The absolute path of a file that can be read. Throws `CONFIG` or `PERMISSION`. */
function readable(file: string): string {
  const path = resolve(file)
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) {
    throw new Fault('CONFIG', `${file} is not a file`)
  }
  try {
    accessSync(path, constants.R_OK)
  } catch (cause) {
    throw new Fault('PERMISSION', `${file} may not be read`, { cause })
  }
  return path
}
