import { resolve } from 'node:path'
import { counted } from '../report/amounts.js'
import { renderReport } from '../report/page.js'
import { readFacts } from '../report/read.js'
import { type Context, exitCodes } from './context.js'
import { expectPeriod } from './day.js'
import { expectWritable, writeOut } from './output/out-file.js'
import { useStore } from './use-stack.js'

export interface ReportOptions {
  readonly cycle: string
  /** First day of the period. */
  readonly start?: string
  /** Default: a file in the current folder, named after cycle and period. */
  readonly out?: string
}

/** Writes the latest run of a billing cycle as one HTML page; replaces an older file. */
export async function reportCommand(context: Context, options: ReportOptions): Promise<number> {
  const { cycle: cycleId, start, out } = options
  if (start !== undefined) expectPeriod(start, '--start')
  if (out !== undefined) await expectWritable(out)
  const facts = await useStore(context, 'report', (store, profile) =>
    readFacts(store, { cycleId, start }, profile.timeZone),
  )
  const { first, last } = facts.run
  const name = `cycle-${cycleId.replace(/[^\p{L}\p{N}-]/gu, '_')}-${first}.html`
  const path = resolve(out ?? name)
  await writeOut(path, [renderReport(facts)])
  const bills = facts.totals.reduce((sum, one) => sum + one.bills, 0)
  context.print(`wrote ${path}`)
  context.say(`cycle ${cycleId}, ${first} to ${last}: ${counted(bills, 'bill')}`)
  return exitCodes.good
}
