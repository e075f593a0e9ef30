import { draw } from '../../infra/demo/draw.js'
import { tablesOf } from '../../pipeline/bills/members.js'
import { createPlans } from '../../pipeline/bills/price.js'
import { register } from '../../pipeline/customers/registrations.js'
import { recordAct, tieline } from '../../pipeline/ledger/audit.js'
import { eraseDue } from '../../pipeline/steps/erase.js'
import { load } from '../../pipeline/steps/load.js'
import { receive } from '../../pipeline/steps/receive.js'
import { failFile, reconcile } from '../../pipeline/steps/reconcile.js'
import { settle } from '../../pipeline/steps/settle.js'
import { id, sql } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import type { LineByHand } from '../../test/pipeline/by-hand.js'
import { customerAt } from '../../test/pipeline/customers/registering.js'
import type { Violation, Watch } from './properties.js'

const attemptsMax = 50
const terminations = 'ContractAccount,ExternalSiteID,MeterID,TerminationDate,Reason'
const actions = ['load', 'correct', 'correct', 'register', 'audit', 'bills', 'erase'] as const

/** The meters of a schedule; the number of an account is that of its meter. */
export function meterOf(prefix: string, index: number): string {
  return `${prefix}M${index}`
}

/**
 * Plays the actions that a seed draws, by the product's own steps, each tried again after passing
 * faults as the worker does. Starts with a file, and corrects it at least once.
 */
export async function play(
  line: LineByHand,
  { prefix, seed, watch }: { prefix: string; seed: number; watch: Watch },
): Promise<readonly Violation[]> {
  const violations: Violation[] = []
  const steps = ['load', 'correct', ...drawn(seed)] as const
  const refuse = (what: string, error: unknown) => {
    violations.push({ property: 'statements refused', what: `${what}: ${textOf(error)}` })
  }
  for (const [index, action] of steps.entries()) {
    const number = prefix.replace(/\D/g, '')
    const meter = (at: number) => meterOf(prefix, at)
    const pick = (among: number) => draw(seed, 100, index) % among
    if (action === 'load' || action === 'correct') {
      const first = action === 'load' && index > 0 ? index : 0
      const name = `DEMO_05032026_Electric_${number}${index}.csv`
      const rows = [0, 1].flatMap((at) => readsOf(meter(first + at), index, pick(4)))
      violations.push(...(await takeIn(line, { name, rows })))
    } else if (action === 'register') {
      const at = { clientId: `${prefix}C`, accountNumber: meter(0), meterId: meter(0) }
      await retried(() => register(line.context, [customerAt(at)])).catch((error) =>
        refuse(action, error),
      )
    } else if (action === 'audit') {
      const act = { act: 'retry', subject: prefix, detail: `${index}` } as const
      await retried(() => recordAct(line.context.store, tieline, act)).catch((error) =>
        refuse(action, error),
      )
    } else if (action === 'bills') {
      await compare(line, `${prefix}${index}`).catch((error) => refuse(action, error))
    } else {
      const name = `DEMO_06062024_Terminations_${number}${index}.csv`
      const row = `${meter(1)},,,2024-06-05,moved`
      violations.push(...(await takeIn(line, { name, rows: [row], header: terminations })))
      watch.erasing(meter(1))
      await retried(() => eraseDue(line.context)).catch((error) => refuse(action, error))
      if (await isErased(line, meter(1))) watch.erased(meter(1))
    }
  }
  return violations
}

function drawn(seed: number): readonly (typeof actions)[number][] {
  const count = 1 + (draw(seed, 101, 0) % 3)
  return Array.from({ length: count }, (_, at) => {
    return actions[draw(seed, 102, at) % actions.length] as (typeof actions)[number]
  })
}

/** Reads of a quarter of an hour each; a correction has other values and may lack the first ones. */
function readsOf(meter: string, index: number, skipped: number): readonly string[] {
  const times = ['0:00', '0:15', '0:30', '0:45', '1:00', '1:15']
  return times
    .slice(index === 0 ? 0 : skipped)
    .map((time, at) => `${meter},S,${meter},3/4/2026 ${time},${index}.${at}`)
}

interface SentFile {
  readonly name: string
  readonly rows: readonly string[]
  readonly header?: string
}

/** Takes a good file in. It must be published in the end, whatever fails in between. */
async function takeIn(
  line: LineByHand,
  { name, rows, header }: SentFile,
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
    return [{ property: 'statements refused', what: `${name}: ${textOf(error)}` }]
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

async function retried<T>(run: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run()
    } catch (error) {
      if (!(error instanceof Fault) || !error.retry || attempt === attemptsMax) throw error
    }
  }
}

/** The table of plans of a comparison of rates, as a run makes it. */
async function compare({ context }: LineByHand, run: string): Promise<void> {
  const tables = tablesOf(run)
  await retried(() => context.store.command(createPlans(tables)))
  await retried(() =>
    context.store.command({ sql: sql`DROP TABLE IF EXISTS ${id(tables.variants)}` }),
  )
}

async function isErased({ context }: LineByHand, account: string): Promise<boolean> {
  const rows = await retried(() =>
    context.store.rows({
      sql: sql`SELECT 1 FROM erasure WHERE account_number = ${account} AND rank = 3`,
    }),
  )
  return rows.length > 0
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message.slice(0, 200) : String(error)
}
