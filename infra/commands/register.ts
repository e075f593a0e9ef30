import { statSync } from 'node:fs'
import { basename } from 'node:path'
import { openHistory } from '../../pipeline/customers/backfill.js'
import {
  type Registered,
  register as registerCustomers,
} from '../../pipeline/customers/registrations.js'
import { recordAct } from '../../pipeline/ledger/audit.js'
import { createStore } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import {
  type CustomerProblem,
  type CustomerRules,
  judgeCustomer,
} from '../../schemas/gateway/customer.js'
import { type Registration, toRegistration } from '../../schemas/gateway/registration.js'
import { commandActor } from '../stack/actor.js'
import { type Context, exitCodes } from './context.js'
import { readCustomers } from './customer-file.js'
import { createBar } from './output/progress.js'
import { grouped } from './output/table.js'
import { type InUse, useStack } from './use-stack.js'

export interface RegisterOptions extends Pick<CustomerRules, 'required'> {
  /** Print the summary as JSON. */
  readonly json: boolean
}

interface Summary extends Registered {
  readonly bad: number
}

/** Customers that are handed over together: one insert for all that is new of them. */
const customersAtOnce = 1_000
const problemsShown = 20

/**
 * Registers the customers of a file. A bad record is named by its line and fields, never by what
 * stands in it, and does not keep the others out. The exit code is 1 when there was one.
 */
export async function register(
  context: Context,
  file: string,
  options: RegisterOptions,
): Promise<number> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw new Fault('CONFIG', `${file} is not a file`)
  }
  const summary = await useStack(context, 'register', (stack) =>
    registerFile(stack, { file, options, say: context.say }),
  )
  context.print(options.json ? JSON.stringify(summary, undefined, 2) : render(summary))
  return summary.bad === 0 ? exitCodes.good : exitCodes.fault
}

interface Task {
  readonly file: string
  readonly options: RegisterOptions
  readonly say: (text: string) => void
}

async function registerFile(stack: InUse, { file, options, say }: Task): Promise<Summary> {
  const store = createStore(stack.store)
  const context = { store, now: () => new Date() }
  const rules: CustomerRules = { required: options.required, permanentIds: true }
  const bytesTotal = statSync(file).size
  const act = { act: 'register', subject: basename(file), detail: `${bytesTotal} bytes` } as const
  await recordAct(store, commandActor(), act)
  const bar = createBar()
  const batch: Registration[] = []
  let summary: Summary = { customers: 0, changed: 0, meters: 0, bad: 0 }
  const submission = async (bytesDone: number) => {
    const registered = batch.splice(0)
    const { customers, changed, meters } = await registerCustomers(context, registered)
    if (stack.profile.backfill !== undefined) await openHistory(context, registered)
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
      const { customer, problems } = judgeCustomer(value, rules)
      if (customer !== undefined) batch.push(toRegistration(customer))
      else {
        summary = { ...summary, bad: summary.bad + 1 }
        const reasons = layoutFault(value) ?? spell(problems)
        if (summary.bad <= problemsShown) say(`line ${line}: ${reasons}`)
      }
      if (batch.length >= customersAtOnce) await submission(bytesRead)
    }
    await submission(bytesTotal)
  } finally {
    bar.stop()
    await store.close()
  }
  if (summary.bad > problemsShown) say(`and ${grouped(summary.bad - problemsShown)} more`)
  return summary
}

/** What is wrong with the layout of a record, whatever its fields are. */
function layoutFault(value: unknown): string | undefined {
  const wanted = 'write each customer as a JSON object on a line of its own'
  if (value === undefined) return `is not JSON; ${wanted}`
  return Array.isArray(value) ? `is a list; ${wanted}` : undefined
}

function spell(problems: readonly CustomerProblem[]): string {
  return problems.map(({ field, reason }) => `${field || 'the record'} ${reason}`).join('; ')
}

function render({ customers, changed, meters, bad }: Summary): string {
  const known = customers - changed
  return [
    `${grouped(customers)} customers with ${grouped(meters)} meters are registered`,
    `${grouped(changed)} of them new or changed, ${grouped(known)} known and unchanged`,
    ...(bad > 0 ? [`${grouped(bad)} bad records were left out`] : []),
  ].join('\n')
}
