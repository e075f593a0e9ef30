import { failFile } from '../../pipeline/fail-file.js'
import { load } from '../../pipeline/steps/load.js'
import { receive } from '../../pipeline/steps/receive.js'
import { reconcile } from '../../pipeline/steps/reconcile.js'
import { settle } from '../../pipeline/steps/settle.js'
import type { LineByHand } from '../../test/pipeline/by-hand.js'
import type { Clock } from './clock.js'
import type { Violation, Watch } from './properties.js'

export interface Stage {
  readonly line: LineByHand
  readonly watch: Watch
  readonly clock: Clock
  readonly catchUp: () => Promise<void>
  /** What the names of the schedule's meters, accounts and clients begin with. */
  readonly prefix: string
  readonly seed: number
}

export interface GoodFile {
  readonly name: string
  readonly rows: readonly string[]
  readonly header?: string
}

/** Takes a good file in. It must be published in the end, whatever fails in between. */
export async function takeGoodFile(
  stage: Stage,
  { name, rows, header }: GoodFile,
): Promise<readonly Violation[]> {
  const { line, watch, clock } = stage
  const { context } = line
  try {
    const { arrival } = await clock.retried(() => line.arrive(name, rows, header))
    watch.sent({ name, arrival })
    await stepped(stage, { job: 'receive', arrival }, () => receive(context, arrival))
    for (const task of line.loads.splice(0)) {
      await stepped(stage, { job: 'load', arrival }, () => load(context, task))
    }
    await stepped(stage, { job: 'reconcile', arrival }, () => reconcile(context, arrival))
    await asJob(stage, `settle-${arrival}`, () => settle(context, arrival))
    const state = await clock.retried(() => context.ledger.state(arrival))
    if (state?.status !== 'quarantined') return watch.lookAtSettled(arrival)
    return [{ property: 'good files quarantined', what: `${name}: ${state.reason}` }]
  } catch (error) {
    return refused(name, error)
  }
}

/** As the worker: after the last attempt the file is failed. */
async function stepped(
  stage: Stage,
  step: Parameters<typeof failFile>[1],
  run: () => Promise<void>,
): Promise<void> {
  try {
    await asJob(stage, `${step.job}-${step.arrival}`, run)
  } catch (error) {
    await stage.clock.retried(() => failFile(stage.line.context, step, error))
  }
}

/** As the worker runs a job: its statements bear its name, and each attempt first catches up. */
function asJob<T>(
  { line, catchUp, clock }: Stage,
  name: string,
  run: () => Promise<T>,
): Promise<T> {
  const { store } = line.context
  return clock.retried(() =>
    store.runTask(name, async () => {
      await catchUp()
      return run()
    }),
  )
}

/** Runs what is not a file's step. */
export async function tryOut(
  stage: Stage,
  what: string,
  run: () => Promise<unknown>,
): Promise<readonly Violation[]> {
  try {
    await asJob(stage, what, run)
    return []
  } catch (error) {
    return refused(what, error)
  }
}

function refused(what: string, error: unknown): readonly Violation[] {
  const text = error instanceof Error ? error.message.slice(0, 200) : String(error)
  return [{ property: 'statements refused', what: `${what}: ${text}` }]
}
