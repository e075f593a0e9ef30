import { draw } from '../../infra/demo/draw.js'
import { bill } from '../../pipeline/bills/run.js'
import { register } from '../../pipeline/customers/registrations.js'
import { recordAct, tieline } from '../../pipeline/ledger/audit.js'
import { eraseDue } from '../../pipeline/steps/erase.js'
import { sweep } from '../../pipeline/steps/sweep.js'
import { sql } from '../../pipeline/store/sql.js'
import { customerAt } from '../../test/pipeline/customers/registering.js'
import type { Violation } from './properties.js'
import { type Stage, takeGoodFile, tryOut } from './take-in.js'

/** A step of a schedule: its place in it, and what names files of no other step. */
interface Step {
  readonly index: number
  readonly number: string
  pick(among: number): number
}

type Action = (stage: Stage, step: Step) => Promise<readonly Violation[]>

/** No name of an account is in another name, so that what is left of one can be found. */
const meterOf = ({ prefix }: Stage, at: number) => `${prefix}M${at}`
const accountOf = ({ prefix }: Stage, at: number) => `${prefix}A${at}`

const actions = {
  load: (stage, step) => sendReads(stage, step, step.index),
  correct: (stage, step) => sendReads(stage, step, 0),
  register: (stage) => registerFirst(stage),
  audit: (stage, { index }) => {
    const act = { act: 'retry', subject: stage.prefix, detail: `${index}` } as const
    return tryOut(stage, 'audit', () => recordAct(stage.line.context.store, tieline, act))
  },
  bills: runBills,
  erase: eraseSecond,
} as const satisfies Record<string, Action>

const drawnFrom = ['load', 'correct', 'correct', 'register', 'audit', 'bills', 'erase'] as const

/**
 * Plays the actions that a seed draws, by the product's own steps, each tried again after passing
 * faults as the worker does. Starts with a file, and corrects it at least once.
 */
export async function play(stage: Stage): Promise<readonly Violation[]> {
  const { seed, prefix } = stage
  const count = 1 + (draw(seed, 101, 0) % 3)
  const drawn = Array.from({ length: count }, (_, at) => {
    return drawnFrom[draw(seed, 102, at) % drawnFrom.length] as (typeof drawnFrom)[number]
  })
  const violations: Violation[] = []
  for (const [index, name] of (['load', 'correct', ...drawn] as const).entries()) {
    const number = `${prefix.replace(/\D/g, '')}${index}`
    const pick = (among: number) => draw(seed, 100, index) % among
    violations.push(...(await actions[name](stage, { index, number, pick })))
  }
  return violations
}

/** Reads of two meters, a quarter of an hour each; a correction has other values and may lack the first ones. */
function sendReads(stage: Stage, { index, number, pick }: Step, first: number) {
  const times = ['0:00', '0:15', '0:30', '0:45', '1:00', '1:15']
  const skipped = index === 0 ? 0 : pick(4)
  const rows = [first, first + 1].flatMap((at) =>
    times.slice(skipped).map((time, quarter) => {
      const names = `${accountOf(stage, at)},S,${meterOf(stage, at)}`
      return `${names},3/4/2026 ${time},${index}.${quarter}`
    }),
  )
  return takeGoodFile(stage, { name: `DEMO_05032026_Electric_${number}.csv`, rows })
}

/** Schedules of one store have a billing cycle each. */
const cycleOf = ({ prefix }: Stage) => `${prefix}cycle`

function registerFirst(stage: Stage): Promise<readonly Violation[]> {
  const { line, prefix } = stage
  const names = { accountNumber: accountOf(stage, 0), meterId: meterOf(stage, 0) }
  const customer = customerAt({ clientId: `${prefix}C`, ...names })
  const meters = customer.meters.map((one) => ({ ...one, billingCycleId: cycleOf(stage) }))
  return tryOut(stage, 'register', () => register(line.context, [{ ...customer, meters }]))
}

/** A customer, rates, a cycle of a day, and its bills. */
async function runBills(stage: Stage, { index, number }: Step): Promise<readonly Violation[]> {
  const { line, watch } = stage
  const day = '2026-03-04'
  const files = {
    RateCodes: ['RateCode,Description,RateType', 'RES,Residential,Flat'],
    RateFlat: ['RateCode,Amount,RateStartDate,RateEndDate', `RES,0.${number},2025-01-01,`],
    BillingCycles: ['BillingCycleID,StartDate,EndDate', `${cycleOf(stage)},${day},${day}`],
  }
  const violations = [...(await registerFirst(stage))]
  for (const [feed, [header = '', ...rows]] of Object.entries(files)) {
    const name = `DEMO_0303202${index}_${feed}_${number}.csv`
    violations.push(...(await takeGoodFile(stage, { name, rows, header })))
  }
  const request = { cycleId: cycleOf(stage), start: day }
  violations.push(...(await tryOut(stage, 'bills', () => bill(line.context, request))))
  return [...violations, ...(await watch.lookAtBills())]
}

/** Terminates the account of the second meter, whose days of grace are over. */
async function eraseSecond(stage: Stage, { number }: Step): Promise<readonly Violation[]> {
  const { line, watch } = stage
  const account = accountOf(stage, 1)
  const violations = await takeGoodFile(stage, {
    name: `DEMO_06062024_Terminations_${number}.csv`,
    rows: [`${account},,,2024-06-05,moved`],
    header: 'ContractAccount,ExternalSiteID,MeterID,TerminationDate,Reason',
  })
  watch.erasing(account)
  const refused = await tryOut(stage, 'erase', () => eraseDue(line.context))
  if (await isErased(stage, account)) watch.erased(account)
  return [...violations, ...refused]
}

/** What a worker does from time to time: drops the staging that was left on the server on which it works. */
export function sweepServer(stage: Stage): Promise<readonly Violation[]> {
  return tryOut(stage, 'sweep', () => sweep(stage.line.context))
}

/** What a worker does at night: erases what files have brought of erased accounts since. */
export function eraseAtNight(stage: Stage): Promise<readonly Violation[]> {
  return tryOut(stage, 'erase', () => eraseDue(stage.line.context))
}

async function isErased({ line, clock }: Stage, account: string): Promise<boolean> {
  const rows = await clock.retried(() =>
    line.context.store.rows({
      sql: sql`SELECT 1 FROM erasure WHERE account_number = ${account} AND rank = 3`,
    }),
  )
  return rows.length > 0
}
