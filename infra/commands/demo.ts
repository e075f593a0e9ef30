import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createStore } from '../../pipeline/stores/clickhouse.js'
import { type Receipt, receiptSchema } from '../../schemas/receipt.js'
import { type Context, exitCodes } from '../context.js'
import { type DemoFile, demoFileNames, writeDemoFiles } from '../demo/utility.js'
import { followFiles } from '../follow.js'
import type { Home } from '../home.js'
import { renderReceipts } from '../receipts.js'
import { type Step, timed } from '../servers.js'
import { bytesText, grouped } from '../table.js'
import { type InUse, untilEnding } from '../use-stack.js'
import { printResult } from './sql.js'
import { describe, renderStep, startHere, untilAsked } from './up.js'

const firstQuery = `SELECT local_day, count() AS meters, sum(quantity) AS kWh,
       sum(intervals_present) AS reads, any(intervals_expected) AS intervals_a_day
FROM usage_day
WHERE commodity = 'Electric' AND local_day BETWEEN '2025-10-31' AND '2025-11-04'
GROUP BY local_day
ORDER BY local_day`

const lookMs = 200

/**
 * Starts everything, lets the demo utility send its files, shows their receipts and a first query,
 * and runs on until Ctrl-C unless `once`. A second start finds its data again.
 */
export async function demo(context: Context, options: { readonly once: boolean }): Promise<number> {
  context.print('Tieline: everything on this machine\n')
  const { stack, ...own } = await startHere(context, 'demo', {})
  const inUse = { ...stack, ...own }
  try {
    await untilEnding(context, show(context, inUse))
  } catch (error) {
    await stack.close()
    throw error
  }
  if (options.once) {
    await stack.close()
    context.print('\nEverything is stopped; npm start finds the data again.')
    return exitCodes.good
  }
  context.print('\nCtrl-C stops everything')
  await untilAsked(context, stack)
  return exitCodes.good
}

async function show(context: Context, stack: InUse): Promise<void> {
  const earlier = await earlierReceipts(stack)
  if (earlier) context.print("\nThe demo utility's files are here from an earlier start\n")
  const receipts = earlier ?? (await sendFiles(context, stack))
  context.print(`${renderReceipts(receipts)}\n`)
  context.print('A first query: the day on which the clock was set back has 25 hours\n')
  context.print(`${firstQuery}\n`)
  await printResult(stack, { statement: firstQuery, format: 'PrettyCompact' })
  context.print(`\n${describe(stack)}`)
  context.print('\nTry     npx tieline sql "SELECT * FROM usage LIMIT 5"')
  context.print('        npx tieline status')
}

async function sendFiles(context: Context, stack: InUse): Promise<readonly Receipt[]> {
  const written = {
    name: 'demo files',
    detail: (files: readonly DemoFile[]) => {
      const rows = files.reduce((sum, file) => sum + file.rows, 0)
      const bytes = files.reduce((sum, file) => sum + file.bytes, 0)
      return `${files.length} in the inbox, ${grouped(rows)} rows, ${bytesText(bytes)}`
    },
  }
  const onStep = (step: Step) => context.print(`${renderStep(step)}\n`)
  const files = await timed({ onStep }, written, () => writeDemoFiles(stack.home.inbox))
  return followFiles(
    stack,
    files.map((file) => ({
      name: file.name,
      bytes: file.bytes,
      arrive: () => arrivalOf(stack, file.name),
    })),
  )
}

/** Waits until the inbox has been looked at and the file has its number. */
async function arrivalOf(stack: InUse, name: string): Promise<number> {
  const store = createStore(stack.store)
  try {
    for (;;) {
      const [found] = await store.rows<{ arrival: number | null }>({
        sql: 'SELECT max(arrival) AS arrival FROM file_arrival WHERE file_name = {name:String}',
        parameters: { name },
      })
      if (found?.arrival) return Number(found.arrival)
      await sleep(lookMs)
    }
  } finally {
    await store.close()
  }
}

/** The receipts of an earlier start, undefined where one of the demo's files is not there yet. */
async function earlierReceipts(stack: InUse): Promise<readonly Receipt[] | undefined> {
  const store = createStore(stack.store)
  try {
    const found = await store.rows<{ file_name: string }>({
      sql: `SELECT DISTINCT file_name FROM file_load
WHERE status = 'published' AND file_name IN {names:Array(String)}`,
      parameters: { names: demoFileNames },
    })
    if (found.length < demoFileNames.length) return undefined
    return demoFileNames.flatMap((name) => readReceipt(stack.home, name))
  } finally {
    await store.close()
  }
}

function readReceipt(home: Home, name: string): readonly Receipt[] {
  const path = join(home.outbox, `${name}.receipt.json`)
  if (!existsSync(path)) return []
  return [receiptSchema.parse(JSON.parse(readFileSync(path, 'utf8')))]
}
