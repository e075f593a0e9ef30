import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { openHistory } from '../../pipeline/customers/backfill.js'
import { type Registered, register } from '../../pipeline/customers/registrations.js'
import { recordAct } from '../../pipeline/ledger/audit.js'
import { letPass } from '../../pipeline/queues/wait.js'
import { queueClaim } from '../../pipeline/steps/forward.js'
import { createStore } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import {
  type CustomerProblem,
  type CustomerRules,
  type CustomerVerdict,
  judgeCustomer,
  spellProblem,
} from '../../schemas/gateway/customer.js'
import { asSent, normaliseCustomer } from '../../schemas/gateway/normalise.js'
import { type Registration, toRegistration } from '../../schemas/gateway/registration.js'
import { createZone } from '../../schemas/time/zone.js'
import { commandActor } from '../stack/actor.js'
import { withQueues } from '../stack/connections.js'
import { type Context, exitCodes } from './context.js'
import { readCustomers } from './customer-file.js'
import { createBar } from './output/progress.js'
import { grouped } from './output/table.js'
import { type InUse, useStack } from './use-stack.js'

export interface RegisterOptions {
  /** Instead of `cis.required` of the profile. */
  readonly required?: CustomerRules['required']
  /** Print the summary as JSON. */
  readonly json: boolean
}

interface Summary extends Registered {
  readonly bad: number
}

/** Customers of one batch: their new facts are one insert. */
const customersAtOnce = 1_000
const problemsShown = 20

/**
 * Registers the customers of a file. An invalid record is reported by line and fields, never by its
 * values, and does not affect the others. The exit code is 1 if a record was invalid.
 */
export async function registerCommand(
  context: Context,
  file: string,
  options: RegisterOptions,
): Promise<number> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw new Fault('CONFIG', `${file} is not a file; name an existing file`)
  }
  const summary = await useStack(context, 'register', (stack) =>
    registerFile(stack, { file, options, say: context.say }),
  )
  context.print(options.json ? JSON.stringify(summary, undefined, 2) : render(summary))
  return summary.bad === 0 ? exitCodes.good : exitCodes.fault
}

interface RegisterTask {
  readonly file: string
  readonly options: RegisterOptions
  readonly say: (text: string) => void
}

/** Registers the customers of a file. */
export async function registerFile(
  stack: InUse,
  { file, options, say }: RegisterTask,
): Promise<Summary> {
  const store = createStore(stack.store)
  const { profile } = stack
  const zone = createZone(profile.timeZone)
  const context = { store, profile, zone, now: () => new Date() }
  const normalise = profile.cis?.normalise === false ? asSent : normaliseCustomer
  const rules = rulesOf(profile, options)
  const bytesTotal = statSync(file).size
  const act = { act: 'register', subject: basename(file), detail: `${bytesTotal} bytes` } as const
  await recordAct(store, commandActor(), act)
  const bar = createBar()
  const batch: Registration[] = []
  let summary: Summary = { customers: 0, changed: 0, meters: 0, bad: 0 }
  const flush = async (bytesDone: number) => {
    const registered = batch.splice(0)
    const { customers, changed, meters } = await register(context, registered)
    if (profile.backfill !== undefined) await openHistory(context, registered)
    summary = {
      customers: summary.customers + customers,
      changed: summary.changed + changed,
      meters: summary.meters + meters,
      bad: summary.bad,
    }
    bar.update({ bytesDone, bytesTotal, rowsLoaded: summary.customers, status: 'registering' })
  }
  try {
    for await (const { line, value, bytesRead } of readCustomers(file)) {
      const { record, partialSites, hasMeter } = normalise(value)
      const { customer, readUnder, problems } = hasMeter
        ? judgeCustomer(record, rules)
        : withoutMeter
      if (customer !== undefined) batch.push(toRegistration(customer, { partialSites, readUnder }))
      else {
        summary = { ...summary, bad: summary.bad + 1 }
        const reasons = layoutFault(value) ?? spell(problems)
        if (summary.bad <= problemsShown) say(`line ${line}: ${reasons}`)
      }
      if (batch.length >= customersAtOnce) await flush(bytesRead)
    }
    await flush(bytesTotal)
    await withQueues(stack, (queues) => queueClaim({ store, queues })).catch(letPass)
  } finally {
    bar.stop()
    await store.close()
  }
  if (summary.bad > problemsShown) say(`and ${grouped(summary.bad - problemsShown)} more`)
  return summary
}

/** The fields that the gateway requires of a record, so that both register the same customers. */
function rulesOf({ cis }: InUse['profile'], { required }: RegisterOptions): CustomerRules {
  return {
    required: required ?? cis?.required ?? 'full',
    permanentIds: cis?.permanentIds ?? true,
  }
}

const withoutMeter: CustomerVerdict = {
  problems: [{ field: 'customerSites', reason: 'has no electric or gas meter' }],
}

/** The error of a record that is not a single JSON object. */
function layoutFault(value: unknown): string | undefined {
  const wanted =
    'write each customer as a JSON object on its own line, or as an element of one array'
  if (value === undefined) return `is not JSON; ${wanted}`
  return Array.isArray(value) ? `is a JSON array; ${wanted}` : undefined
}

function spell(problems: readonly CustomerProblem[]): string {
  return problems.map(spellProblem).join('; ')
}

function render({ customers, changed, meters, bad }: Summary): string {
  const known = customers - changed
  return [
    `${grouped(customers)} customers with ${grouped(meters)} meters are registered`,
    `${grouped(changed)} new or changed, ${grouped(known)} unchanged`,
    ...(bad > 0 ? [`${grouped(bad)} invalid records were skipped`] : []),
  ].join('\n')
}
