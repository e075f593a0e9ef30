import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { type MeterReference, numberedMeters } from '../../infra/demo/customers.js'
import { shortestHeader } from '../../pipeline/files/header.js'
import { feeds } from '../../schemas/feed.js'

/** A file of a feed and the rows behind its header. */
export interface FeedFile {
  readonly path: string
  readonly rows: number
}

const start = '2026-02-04'
const lineTypes = ['Energy', 'Energy', 'Delivery', 'Delivery', 'Rider', 'Program', 'Fixed', 'Tax']
const invoiceTypes = ['Energy', 'Delivery', 'Tax']

/** The billing of a cycle day: for each customer a bill, its eight lines, and three of an invoice. */
const makers = {
  Billing: ({ accountNumber, externalSiteId, meterId }, at) => [
    `${accountNumber},${externalSiteId},${meterId},${start},2026-03-05,${kwh(at)},${kwh(at)},${dollars(at)},2.74,2019-06-01`,
  ],
  BillingLines: ({ accountNumber, meterId }, at) =>
    lineTypes.map(
      (type, line) =>
        `${accountNumber},${meterId},${start},${line + 1},${type},"${type}, part ${line + 1}",${kwh(at)},0.1124,${dollars(at + line)}`,
    ),
  Invoices: ({ accountNumber }, at) =>
    invoiceTypes.map(
      (type, line) =>
        `${accountNumber},20260306-${at},2026-03-06,2026-03-27,${line + 1},${type},${type} of the period,${dollars(at + line)}`,
    ),
} as const satisfies Record<string, (meter: MeterReference, at: number) => readonly string[]>

const kwh = (at: number) => (200 + ((at * 7_919) % 900_000) / 1_000).toFixed(3)
const dollars = (at: number) => (20 + ((at * 6_271) % 30_000) / 100).toFixed(2)

/** Writes the files into a folder; names and sizes are the same for a number of customers. */
export async function billingFiles(
  folder: string,
  customers: number,
): Promise<readonly FeedFile[]> {
  const files: FeedFile[] = []
  for (const [name, toRows] of Object.entries(makers)) {
    const path = `${folder}/BENCH_06032026_${name}.csv`
    const header = shortestHeader(feeds[name as keyof typeof makers])
    let rows = 0
    const blocks = function* () {
      let block = `${header}\n`
      for (const [at, meter] of numberedMeters(customers).entries()) {
        const own = toRows(meter, at)
        rows += own.length
        block += `${own.join('\n')}\n`
        if (block.length < 1_048_576) continue
        yield block
        block = ''
      }
      yield block
    }
    await pipeline(Readable.from(blocks(), { objectMode: false }), createWriteStream(path))
    files.push({ path, rows })
  }
  return files
}
