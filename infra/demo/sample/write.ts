import { mkdir, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { addDays } from '../../../schemas/time/zone.js'
import { usageFile } from '../usage-file.js'
import { usageHeader } from '../usage-rows.js'
import { type BillRow, cycleLines, isLatest, sampleBills } from './bills.js'
import { firstDay, lastMonth, rateFiles, serviceCharge } from './rates.js'
import { type Delivery, fileName, sampleUsage } from './usage.js'

export interface SampleFile {
  readonly name: string
  readonly rows: number
  readonly bytes: number
}

/** When rates and cycles were sent. */
const ratesSent = addDays(firstDay, -10)
const billsSent = '2026-10-21'
const invoicesCount = 20

/** The file that corrects reads of the others. */
const correction = fileName('2026-11-03', 'Electric')

/** Files that are sent together, by name. */
export interface Sending {
  readonly name: string
  readonly files: readonly string[]
}

/** What is sent, each when the one before is loaded: a correction that is loaded first is not seen as one. */
export function sampleSendings(): readonly Sending[] {
  const { deliveries } = sampleUsage()
  const records = recordLines([]).map(([name]) => name)
  return [
    { name: 'demo files', files: [...records, ...deliveries.map(({ name }) => name)] },
    { name: 'correction', files: [correction] },
  ]
}

/** Names of the files of the sample that Tieline loads, in the order in which they were sent. */
export function sampleFileNames(): readonly string[] {
  return sampleSendings().flatMap(({ files }) => files)
}

/**
 * Writes one complete set of all feeds into a folder: some or all files, each renamed to its name when it
 * is complete, with a done-file. The same call gives the same bytes.
 */
export async function writeSampleFiles(
  folder: string,
  names = sampleFileNames(),
): Promise<readonly SampleFile[]> {
  await mkdir(folder, { recursive: true })
  const { deliveries } = sampleUsage()
  const { bills } = sampleBills(deliveries)
  const files: SampleFile[] = []
  const placeRows = async (name: string, rows: readonly string[]) => {
    if (!names.includes(name)) return
    await place(folder, name, (path) => writeFile(path, lines(rows)))
    files.push({ name, rows: rows.length - 1, bytes: (await stat(join(folder, name))).size })
  }
  for (const [name, rows] of recordLines(bills)) await placeRows(name, rows)
  for (const { name, ...options } of deliveries) {
    if (!names.includes(name)) continue
    let tally = { rows: 0, bytes: 0 }
    await place(folder, name, async (path) => {
      tally = await usageFile(path, options)
    })
    files.push({ name, rows: tally.rows, bytes: tally.bytes })
  }
  await placeRows(correction, correctionLines(deliveries))
  if (files.some(({ name }) => name === fileName(ratesSent, 'RateCodes'))) {
    await writeFile(join(folder, fileName(ratesSent, 'Rates').replace(/csv$/, 'done')), '')
  }
  return files
}

/** Writes the customers, one JSON object a line, for `tieline register`. */
export async function writeSampleCustomers(path: string): Promise<void> {
  await writeFile(path, lines(sampleUsage().customers.map((customer) => JSON.stringify(customer))))
}

async function place(
  folder: string,
  name: string,
  write: (path: string) => Promise<void>,
): Promise<void> {
  const unfinished = join(folder, `.${name}.part`)
  await write(unfinished)
  await rename(unfinished, join(folder, name))
  await writeFile(join(folder, `${name}.done`), '')
}

function lines(rows: readonly string[]): string {
  return `${rows.join('\n')}\n`
}

/** The small files that are sent before all reads, by name, header first. */
function recordLines(
  bills: readonly BillRow[],
): readonly (readonly [name: string, rows: readonly string[]])[] {
  const latest = bills.filter(isLatest)
  const accounts = [...new Set(bills.map(({ meter }) => meter.accountNumber))]
  return [
    ...Object.entries(rateFiles).map(([feed, rows]) => [fileName(ratesSent, feed), rows] as const),
    [fileName(ratesSent, 'BillingCycles'), cycleLines()],
    [fileName(billsSent, 'Billing'), billingLines(bills)],
    [fileName(billsSent, 'BillingLines'), billLines(latest)],
    [fileName(billsSent, 'Invoices'), invoiceLines(latest.slice(0, invoicesCount))],
    [fileName(billsSent, 'PaymentPlans'), planLines(accounts)],
    [fileName(billsSent, 'Terminations'), terminationLines],
  ]
}

function billingLines(bills: readonly BillRow[]): readonly string[] {
  return [
    'ContractAccount,ExternalSiteID,MeterID,BillingStartDate,BillingEndDate,TotalConsumption,UsageValue,Cost,TaxAmount,MeterEffectiveDate,DocumentNumber',
    ...bills.map(({ meter, first, last, quantity, cost, tax, document }) =>
      [
        ...[meter.accountNumber, meter.externalSiteId, meter.meterId, first, last],
        ...[
          quantity.toFixed(3),
          quantity.toFixed(3),
          cost.toFixed(2),
          tax.toFixed(2),
          '',
          document,
        ],
      ].join(','),
    ),
  ]
}

/** Energy, service and tax of a bill; they add up to its cost. */
function partsOf({
  cost,
  tax,
}: BillRow): readonly (readonly [type: string, text: string, amount: string])[] {
  return [
    ['Energy', 'Energy', (cost - tax - serviceCharge).toFixed(2)],
    ['Fixed', 'Service charge', serviceCharge.toFixed(2)],
    ['Tax', 'State tax', tax.toFixed(2)],
  ]
}

function billLines(bills: readonly BillRow[]): readonly string[] {
  return [
    'ContractAccount,MeterID,BillingStartDate,LineNumber,LineType,Description,Quantity,UnitPrice,Amount',
    ...bills.flatMap((bill) =>
      partsOf(bill).map(([type, text, amount], at) => {
        const { meter, first, quantity } = bill
        const used = type === 'Energy' ? quantity.toFixed(3) : ''
        return [
          meter.accountNumber,
          meter.meterId,
          first,
          at + 1,
          type,
          text,
          used,
          '',
          amount,
        ].join(',')
      }),
    ),
  ]
}

function invoiceLines(bills: readonly BillRow[]): readonly string[] {
  return [
    'ContractAccount,InvoiceNumber,InvoiceDate,DueDate,LineNumber,LineType,Description,Amount',
    ...bills.flatMap((bill) =>
      partsOf(bill).map(([type, text, amount], at) => {
        const { meter, last, document } = bill
        const dates = [addDays(last, 2), addDays(last, 23)]
        return [meter.accountNumber, document, ...dates, at + 1, type, text, amount].join(',')
      }),
    ),
  ]
}

function planLines(accounts: readonly string[]): readonly string[] {
  return [
    'ContractAccount,PlanType,StartDate,EndDate,InstallmentAmount,Status',
    `${accounts.at(-1)},BudgetBilling,${firstDay},,85.00,Active`,
    `${accounts.at(-2)},PaymentArrangement,${firstDay},2026-03-31,41.67,Completed`,
  ]
}

/** An account from before the sample: what a termination names is erased 30 days later. */
const terminationLines = [
  'ContractAccount,ExternalSiteID,MeterID,TerminationDate,Reason',
  `910019999999,,,${addDays(firstDay, -1)},Moved out`,
]

/** New values of one evening of one meter, sent after its reads. */
function correctionLines(deliveries: readonly Delivery[]): readonly string[] {
  const [meter] = deliveries.find(({ firstDay: day }) => day === lastMonth)?.meters ?? []
  if (meter === undefined) return [usageHeader]
  const { accountNumber, externalSiteId, meterId } = meter
  return [
    usageHeader,
    ...[17, 18, 19, 20].map(
      (hour) => `${accountNumber},${externalSiteId},${meterId},10/30/2026 ${hour}:00,1.250`,
    ),
  ]
}
