import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { sampleFaults } from '../demo/sample/bills.js'
import { type SampleFile, writeSampleCustomers, writeSampleFiles } from '../demo/sample/write.js'
import { type Context, exitCodes } from './context.js'
import { writeInto } from './output/out-file.js'
import { bytesText, grouped, renderTable, type TableColumn } from './output/table.js'

const columns: readonly TableColumn<SampleFile>[] = [
  { title: 'file', cell: ({ name }) => name },
  { title: 'rows', right: true, cell: ({ rows }) => grouped(rows) },
  { title: 'size', right: true, cell: ({ bytes }) => bytesText(bytes) },
]

/**
 * Writes one complete, valid set of all feeds into a new or empty folder, with its customers. Throws
 * `CONFIG` for a folder with files or one that cannot be written, which is empty afterwards.
 */
export async function sampleCommand(context: Context, dir: string): Promise<number> {
  const folder = resolve(dir)
  if (existsSync(folder) && readdirSync(folder).length > 0) {
    throw new Fault('CONFIG', `${folder} is not empty; name a new folder`)
  }
  const customers = join(folder, 'customers.jsonl')
  let files: readonly SampleFile[] = []
  await writeInto(
    folder,
    async () => {
      files = await writeSampleFiles(folder)
      await writeSampleCustomers(customers)
    },
    async () => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name))
    },
  )
  const faults = sampleFaults()
  const [first] = faults
  context.print(`${renderTable(columns, files)}

To load the set: start tieline up with the profile of the demo, then
  npx tieline register ${customers}
  cp ${folder}/DEMO_* INBOX

Bills that are wrong on purpose
${faults.map(({ what, account, period }) => `  account ${account}, ${period}: ${what}`).join('\n')}

To compute and explain one
  npx tieline bill --cycle ${first?.cycle} --period ${first?.period}
  npx tieline explain --account ${first?.account} --period ${first?.period}`)
  return exitCodes.good
}
