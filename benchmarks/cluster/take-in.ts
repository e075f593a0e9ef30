import { failFile } from '../../pipeline/fail-file.js'
import { load } from '../../pipeline/steps/load.js'
import { receive } from '../../pipeline/steps/receive.js'
import { reconcile } from '../../pipeline/steps/reconcile.js'
import { settle } from '../../pipeline/steps/settle.js'
import { Fault } from '../../schemas/fault.js'
import type { LineByHand } from '../../test/pipeline/by-hand.js'
import type { Violation } from './properties.js'

const attemptsMax = 50

export interface GoodFile {
  readonly name: string
  readonly rows: readonly string[]
  readonly header?: string
}

/** Takes a good file in. It must be published in the end, whatever fails in between. */
export async function takeGoodFile(
  line: LineByHand,
  { name, rows, header }: GoodFile,
): Promise<readonly Violation[]> {
  const { context } = line
  try {
    const { arrival } = await retried(() => line.arrive(name, rows, header))
    await stepped(line, { job: 'receive', arrival }, () => receive(context, arrival))
    for (const task of line.loads.splice(0)) {
      await stepped(line, { job: 'load', arrival }, () => load(context, task))
    }
    await stepped(line, { job: 'reconcile', arrival }, () => reconcile(context, arrival))
    await retried(() => settle(context, arrival))
    const state = await retried(() => context.ledger.state(arrival))
    if (state?.status !== 'quarantined') return []
    return [{ property: 'good files quarantined', what: `${name}: ${state.reason}` }]
  } catch (error) {
    return refused(name, error)
  }
}

/** As the worker: after the last attempt the file is failed. */
async function stepped(
  { context }: LineByHand,
  step: Parameters<typeof failFile>[1],
  run: () => Promise<void>,
): Promise<void> {
  try {
    await retried(run)
  } catch (error) {
    await retried(() => failFile(context, step, error))
  }
}

/** Runs what is not a file's step. */
export async function tryOut(
  what: string,
  run: () => Promise<unknown>,
): Promise<readonly Violation[]> {
  try {
    await retried(run)
    return []
  } catch (error) {
    return refused(what, error)
  }
}

export async function retried<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry || attempt === attemptsMax) throw error
    }
  }
}

function refused(what: string, error: unknown): readonly Violation[] {
  const text = error instanceof Error ? error.message.slice(0, 200) : String(error)
  return [{ property: 'statements refused', what: `${what}: ${text}` }]
}
