import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DemoMeter, demoCustomers } from './customers.js'
import { type UsageTally, usageFile } from './usage-file.js'
import type { UsageOptions } from './usage-rows.js'

export interface DemoFile extends UsageTally {
  readonly name: string
  readonly path: string
}

const seed = 20_251_102
const customersCount = 50
const zone = 'America/Detroit'
/** 35 days that include the clock change of 2 November 2025. */
const calendar = { firstDay: '2025-10-05', days: 35, zone } as const
const sentOn = '09112025'

const contents = {
  [`DEMO_${sentOn}_Electric.csv`]: electric,
  [`DEMO_${sentOn}_Gas.csv`]: gas,
} satisfies Record<string, (meters: readonly DemoMeter[]) => UsageOptions>

/** Names of the demo utility's files. */
export const demoFileNames: readonly string[] = Object.keys(contents)

/**
 * Writes some or all of the demo utility's files: 15-minute electric and daily gas reads of 50
 * customers. Each is renamed to its name when complete, and then gets a done-file.
 */
export async function writeDemoFiles(
  folder: string,
  names = demoFileNames,
): Promise<readonly DemoFile[]> {
  await mkdir(folder, { recursive: true })
  const meters = demoCustomers(seed, customersCount).flatMap((customer) => customer.meters)
  const files: DemoFile[] = []
  for (const [name, toOptions] of Object.entries(contents)) {
    if (!names.includes(name)) continue
    const path = join(folder, name)
    const unfinished = join(folder, `.${name}.part`)
    const tally = await usageFile(unfinished, toOptions(meters))
    await rename(unfinished, path)
    await writeFile(`${path}.done`, '')
    files.push({ ...tally, name, path })
  }
  return files
}

function electric(meters: readonly DemoMeter[]): UsageOptions {
  const ours = meters.filter((meter) => meter.meterType === 'Electric')
  return { ...calendar, meters: ours, seed, intervalSeconds: 900 }
}

function gas(meters: readonly DemoMeter[]): UsageOptions {
  const ours = meters.filter((meter) => meter.meterType === 'Gas')
  return { ...calendar, meters: ours, seed: seed + 1, intervalSeconds: 86_400, shape: 'gas' }
}
