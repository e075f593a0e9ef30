import { createInterface } from 'node:readline'
import { usageRows } from '../../infra/demo/usage-rows.js'
import { formatQuantity } from '../../schemas/quantity.js'
import type { Rig } from '../rig.js'
import type { SentFile } from './feeder.js'

export interface Comparison {
  rowsLost: number
  rowsDoubled: number
  /** Rows that are there with another quantity, account or site, or that no file holds. */
  rowsAltered: number
  readonly filesUnfinished: string[]
  /** Files whose receipt or stored rows have another count or energy than was written. */
  readonly filesUnbalanced: string[]
}

interface Arrived {
  readonly arrival: number
  readonly file_name: string
  readonly status: string
  readonly settled: number
  readonly rows_read: string
  readonly rows_rejected: string
  readonly rows_left: string
  readonly quantity_read: string
  readonly quantity_left: string
}

/** Holds the store against what the generator wrote, row by row, and the ledger file by file. */
export async function compare(rig: Rig, files: readonly SentFile[]): Promise<Comparison> {
  const found: Comparison = {
    rowsLost: 0,
    rowsDoubled: 0,
    rowsAltered: 0,
    filesUnfinished: [],
    filesUnbalanced: [],
  }
  const arrivals = await arrivalsOf(rig)
  for (const file of files) compareLedger(found, file, arrivals)
  for (const winner of winners(files, arrivals)) await compareRows(rig, found, winner)
  return found
}

export function arrivalsOf(rig: Rig): Promise<readonly Arrived[]> {
  const left = (what: string) =>
    `${what}_accepted + ${what}_duplicate + ${what}_superseded + ${what}_unregistered`
  return rig.store.rows<Arrived>({
    sql: `SELECT a.arrival AS arrival, a.name AS file_name, s.status AS status,
        s.settled_at IS NOT NULL AS settled, rows_read, rows_rejected, ${left('rows')} AS rows_left,
        toString(quantity_read) AS quantity_read,
        toString(quantity_rejected + ${left('quantity')}) AS quantity_left
      FROM arrival AS a LEFT JOIN (SELECT * FROM file_state FINAL) AS s ON s.arrival = a.arrival
      ORDER BY arrival`,
  })
}

/** Every arrival of a file must have ended, and what it read must be what was written. */
function compareLedger(found: Comparison, file: SentFile, arrivals: readonly Arrived[]): void {
  const ours = arrivals.filter((one) => one.file_name === file.name)
  const ended = ours.filter((one) => one.settled === 1)
  const published = ours.filter((one) => one.status === 'published')
  if (published.length === 0 || ended.length < ours.length) {
    const shown = ours.map((one) => `${one.arrival} ${one.status || 'without state'}`)
    found.filesUnfinished.push(`${file.name}: ${shown.join(', ') || 'never arrived'}`)
  }
  const { rows, rowsBad, quantityMicro, quantityBadMicro } = file.tally
  const quantity = formatQuantity(quantityMicro + quantityBadMicro)
  for (const one of published) {
    const isSame =
      Number(one.rows_read) === rows &&
      Number(one.rows_rejected) === rowsBad &&
      Number(one.rows_left) === file.rowsGood &&
      one.quantity_read === quantity &&
      one.quantity_left === quantity
    if (!isSame) found.filesUnbalanced.push(`${JSON.stringify(one)}; written: ${rows} ${quantity}`)
  }
}

/** Of each family the file that arrived last: its rows are the current ones. */
function winners(files: readonly SentFile[], arrivals: readonly Arrived[]): readonly SentFile[] {
  const last = new Map<number, { readonly file: SentFile; readonly arrival: number }>()
  for (const file of files) {
    const ours = arrivals.filter((one) => one.file_name === file.name)
    const arrival = Math.max(
      0,
      ...ours.filter((one) => one.status === 'published').map((one) => one.arrival),
    )
    if (arrival > (last.get(file.family)?.arrival ?? -1)) last.set(file.family, { file, arrival })
  }
  return [...last.values()].map((one) => one.file)
}

async function compareRows(rig: Rig, found: Comparison, file: SentFile): Promise<void> {
  const { meters, firstDay, days } = file.usage
  const stream = await rig.store.stream(
    {
      sql: `SELECT meter_id, toUnixTimestamp(starts_at), account_number, external_site_id,
          toInt64(quantity * 1000000)
        FROM usage
        WHERE local_day BETWEEN {first:Date} - 1 AND {first:Date} + {days:UInt16}
          AND meter_id BETWEEN {from:String} AND {to:String}
        ORDER BY meter_id, starts_at`,
      parameters: { first: firstDay, days, from: meters[0]?.meterId, to: meters.at(-1)?.meterId },
    },
    'TabSeparated',
  )
  const expected = new Map<string, string>()
  for (const row of usageRows(file.usage)) {
    if (row.flaw !== undefined) continue
    const value = [row.accountNumber, row.externalSiteId, row.quantityMicro]
    expected.set(`${row.meterId}\t${row.startsAt}`, value.join('\t'))
  }
  let previous = ''
  for await (const line of createInterface({ input: stream })) {
    const at = line.indexOf('\t', line.indexOf('\t') + 1)
    const key = line.slice(0, at)
    if (key === previous) found.rowsDoubled++
    else if (expected.get(key) !== line.slice(at + 1)) found.rowsAltered++
    expected.delete(key)
    previous = key
  }
  found.rowsLost += expected.size
}
