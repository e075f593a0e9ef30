import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { bill } from '../../pipeline/bills/run.js'
import { explain } from '../../pipeline/bills/variance/explain.js'
import { sql } from '../../pipeline/store/sql.js'
import type { Receipt } from '../../schemas/receipt.js'
import { createZone } from '../../schemas/time/zone.js'
import { callGateway } from '../demo/calls.js'
import { type Office, officeSections, startOffice } from '../demo/office.js'
import { sampleFaults } from '../demo/sample/bills.js'
import {
  type SampleFile,
  type Sending,
  sampleSendings,
  writeSampleCustomers,
  writeSampleFiles,
} from '../demo/sample/write.js'
import { withStore } from '../stack/connections.js'
import { type Home, openHome } from '../stack/home.js'
import { demoProfilePath } from '../stack/profile-file.js'
import { type StartStep, timed } from '../stack/servers.js'
import type { Stack } from '../stack/stack.js'
import { type Context, exitCodes } from './context.js'
import { renderBill } from './explain.js'
import { followFiles } from './output/follow.js'
import { renderReceipts } from './output/receipts.js'
import { bytesText, grouped } from './output/table.js'
import { registerFile } from './register.js'
import { printResult } from './sql.js'
import { describeStack, renderStep, startHere, untilAsked } from './up.js'
import { type InUse, untilEnding } from './use-stack.js'

const firstQuery = `SELECT local_day, count() AS meters, sum(quantity) AS kWh,
       sum(intervals_present) AS reads, sum(intervals_expected) AS expected
FROM usage_day
WHERE commodity = 'Electric' AND local_day BETWEEN '2025-10-31' AND '2025-11-04'
GROUP BY local_day
ORDER BY local_day`

const lookMs = 200

/**
 * Starts everything, writes the demo utility's files, and prints their receipts and a first query.
 * Runs until Ctrl-C unless `once`. A second start uses the stored data.
 */
export async function demo(context: Context, options: { readonly once: boolean }): Promise<number> {
  context.print('Tieline: everything on this machine\n')
  const home = openHome(context.homePath)
  const step = {
    name: 'back office',
    detail: ({ idp, cis, ami }: Office) => [idp, cis, ami].join(', '),
  }
  const onStep = (one: StartStep) => context.print(renderStep(one))
  const office = await timed({ onStep }, step, () => startOffice(home))
  try {
    const profilePath = await writeProfile(context, home, office)
    await run({ ...context, profilePath }, office, options)
  } finally {
    await office.close()
  }
  return exitCodes.good
}

/** Writes the demo's profile with the addresses of the back office, for commands in another shell. */
async function writeProfile(context: Context, home: Home, office: Office): Promise<string> {
  const path = join(home.path, 'demo.yaml')
  const own = context.profilePath ?? demoProfilePath
  const sections = Object.entries(await officeSections(office))
  const lines = sections.map(([name, section]) => `${name}: ${JSON.stringify(section)}`)
  writeFileSync(path, [readFileSync(own, 'utf8'), ...lines, ''].join('\n'))
  return path
}

async function run(
  context: Context,
  office: Office,
  options: { readonly once: boolean },
): Promise<void> {
  const { stack, ...own } = await startHere(context, 'demo', {})
  const inUse = { ...stack, ...own }
  try {
    await untilEnding(context, show(context, inUse))
    await untilEnding(context, showGateway(context, stack, office))
    await untilEnding(context, showVariance(context, inUse))
    const page = stack.worker.detail().operations
    context.print(`\nOperations page  ${page}/`)
  } catch (error) {
    await stack.close()
    throw error
  }
  if (options.once) {
    await stack.close()
    context.print('\nAll processes are stopped. Run npm start to use the data again.')
    return
  }
  context.print(`Try     npx tieline probe customer 7000000002 --home ${own.home.path}`)
  context.print('\nCtrl-C stops everything')
  await untilAsked(context, stack)
}

/** Makes one login, one customer and one bind call and prints them as shell commands. */
async function showGateway(context: Context, stack: Stack, office: Office): Promise<void> {
  if (stack.gateway === undefined) return
  context.print('\nThe gateway: one login, one customer, one bind\n')
  for (const { curl, answer } of await callGateway(office, stack.gateway.detail())) {
    context.print(`${curl}${answer === '' ? '' : `\n\n    ${answer}\n`}`)
  }
}

async function show(context: Context, stack: InUse): Promise<void> {
  await registerCustomers(context, stack)
  const receipts: Receipt[] = []
  for (const sending of sampleSendings()) {
    await sendFiles(context, stack, sending)
    const untilArrived = createLooks(stack, sending.files)
    const arriving = sending.files.map((name) => ({
      name,
      bytes: statSync(join(stack.home.inbox, name), { throwIfNoEntry: false })?.size ?? 0,
      arrive: () => untilArrived(name),
    }))
    const ended = await followFiles(stack, arriving, context.say)
    receipts.push(...ended.map(({ receipt }) => receipt))
  }
  context.print(`${renderReceipts(receipts)}\n`)
  context.print(
    'A first query: the day on which daylight saving time ended has 25 hours: more reads\n',
  )
  context.print(`${firstQuery}\n`)
  await printResult(stack.store, { statement: firstQuery, format: 'PrettyCompact' })
  context.print(`\n${describeStack(stack)}`)
  const { path } = stack.home
  context.print(`\nTry     npx tieline sql "SELECT * FROM usage LIMIT 5" --home ${path}`)
  context.print(`        npx tieline status --home ${path}`)
}

async function registerCustomers(context: Context, stack: InUse): Promise<void> {
  const file = join(stack.home.path, 'customers.jsonl')
  await writeSampleCustomers(file)
  const step = {
    name: 'customers',
    detail: ({ customers, meters }: { readonly customers: number; readonly meters: number }) =>
      `${grouped(customers)} registered, ${grouped(meters)} meters`,
  }
  const onStep = (one: StartStep) => context.print(renderStep(one))
  const options = { json: false }
  await timed({ onStep }, step, () => registerFile(stack, { file, options, say: context.say }))
}

/** Computes the bills of the cycles in which the utility made mistakes, and explains the first mistake. */
async function showVariance(context: Context, stack: InUse): Promise<void> {
  const [first, ...others] = sampleFaults()
  if (first === undefined) return
  const { profile } = stack
  await withStore(stack.store, async (store) => {
    const billing = { store, profile, zone: createZone(profile.timeZone), now: () => new Date() }
    for (const { cycle, period } of [first, ...others]) {
      const { bills, total } = await bill(billing, { cycleId: cycle, start: period })
      context.print(
        `bills of cycle ${cycle} from ${period}: ${bills.computed ?? 0} computed, ${total} dollars`,
      )
    }
    context.print(`\nA bill that is wrong on purpose: ${first.what}\n`)
    const found = await explain(store, { account: first.account, start: first.period })
    for (const one of found.filter(({ meter }) => meter === first.meter))
      context.print(renderBill(one))
  })
}

/** Writes the files that are not in the inbox and that no earlier start has received. */
async function sendFiles(
  context: Context,
  stack: InUse,
  { name, files: names }: Sending,
): Promise<void> {
  const { inbox } = stack.home
  const arrivals = await arrivalsOf(stack, names)
  const missing = names.filter(
    (name) => !arrivals.has(name) && !existsSync(join(inbox, `${name}.done`)),
  )
  if (missing.length === 0) {
    context.print(`\nFiles present from an earlier start: ${names.length}\n`)
    return
  }
  const written = {
    name,
    detail: (files: readonly SampleFile[]) => {
      const rows = files.reduce((sum, file) => sum + file.rows, 0)
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
      return `${files.length} in the inbox, ${grouped(rows)} rows, ${bytesText(bytes)}`
    },
  }
  const onStep = (step: StartStep) => context.print(`${renderStep(step)}\n`)
  await timed({ onStep }, written, () => writeSampleFiles(inbox, missing))
}

/**
 * Returns a function that waits until the inbox was polled and a file has an arrival number. One
 * statement looks for all files.
 */
function createLooks(stack: InUse, names: readonly string[]): (name: string) => Promise<number> {
  let known: ReadonlyMap<string, number> = new Map()
  let looking: Promise<void> | undefined
  const look = async (): Promise<void> => {
    known = await arrivalsOf(stack, names)
    if (known.size < names.length) await sleep(lookMs)
    looking = undefined
  }
  return async (name) => {
    for (;;) {
      const arrival = known.get(name)
      if (arrival !== undefined) return arrival
      looking ??= look()
      await looking
    }
  }
}

/** The first arrival of each known name. */
async function arrivalsOf(
  stack: InUse,
  names: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const found = await withStore(stack.store, (store) =>
    store.rows<{ file_name: string; arrival: number }>({
      sql: sql`SELECT file_name, min(arrival) AS arrival
FROM file_arrival
WHERE file_name IN ${names} AND status NOT IN ('replaced', 'duplicate')
GROUP BY file_name`,
    }),
  )
  return new Map(found.map((row) => [row.file_name, Number(row.arrival)]))
}
