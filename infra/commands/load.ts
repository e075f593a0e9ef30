import { accessSync, constants, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import type { HandOver } from '../../pipeline/hand-over.js'
import { Fault } from '../../schemas/fault.js'
import { type Context, exitCodes } from '../context.js'
import { followFiles } from '../follow.js'
import { renderReceipts } from '../receipts.js'
import { useStack } from '../use-stack.js'

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
  let arrivals: ReturnType<HandOver['handOverAll']> | undefined
  const receipts = await useStack(context, 'load', (stack) =>
    followFiles(
      stack,
      paths.map((path, at) => ({
        name: basename(path),
        bytes: statSync(path).size,
        arrive: async (handOver) => {
          arrivals ??= handOver.handOverAll(paths, { again })
          return (await arrivals)[at]?.arrival as number
        },
      })),
    ),
  )
  context.print(options.json ? JSON.stringify(receipts, undefined, 2) : renderReceipts(receipts))
  const good = receipts.every(({ status }) => status === 'published' || status === 'duplicate')
  return good ? exitCodes.good : exitCodes.quarantined
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
