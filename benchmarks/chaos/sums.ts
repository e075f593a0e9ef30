import { hasQuantity } from '../../infra/demo/usage-file.js'
import { sentRows } from './compare/sent-rows.js'
import type { PlannedFile } from './plan.js'

/** Rows and their quantity in millionths of a unit. */
export interface RowSum {
  readonly rows: number
  readonly micros: bigint
}

export const noSum: RowSum = { rows: 0, micros: 0n }

export function plus(sum: RowSum, micros: bigint): RowSum {
  return { rows: sum.rows + 1, micros: sum.micros + micros }
}

/** What of a read is compared: account, site and quantity in millionths. */
export interface Value {
  readonly accountNumber: string
  readonly externalSiteId: string
  readonly micros: bigint
}

export function isSameValue(a: Value, b: Value): boolean {
  return (
    a.micros === b.micros &&
    a.accountNumber === b.accountNumber &&
    a.externalSiteId === b.externalSiteId
  )
}

/** What a file holds: its rows by what becomes of them within the file, and the reads that survive. */
export interface Held {
  readonly read: RowSum
  readonly rejected: RowSum
  readonly duplicate: RowSum
  readonly superseded: RowSum
  /** By meter and start, epoch seconds, with a tab between. */
  readonly reads: ReadonlyMap<string, Value>
}

export function heldIn(file: PlannedFile): Held {
  const reads = new Map<string, Value>()
  const earlier = new Map<string, Value[]>()
  let read = noSum
  let rejected = noSum
  for (const row of sentRows(file)) {
    const isReadable = row.flaw === undefined || hasQuantity(row.flaw)
    read = plus(read, isReadable ? row.quantityMicro : 0n)
    if (row.flaw !== undefined) {
      rejected = plus(rejected, isReadable ? row.quantityMicro : 0n)
      continue
    }
    const key = `${row.meterId}\t${row.startsAt}`
    const { accountNumber, externalSiteId, quantityMicro: micros } = row
    const before = reads.get(key)
    if (before !== undefined) earlier.set(key, [...(earlier.get(key) ?? []), before])
    reads.set(key, { accountNumber, externalSiteId, micros })
  }
  let duplicate = noSum
  let superseded = noSum
  for (const [key, values] of earlier) {
    for (const value of values) {
      if (isSameValue(value, reads.get(key) as Value)) duplicate = plus(duplicate, value.micros)
      else superseded = plus(superseded, value.micros)
    }
  }
  return { read, rejected, duplicate, superseded, reads }
}

/** The reads that there are when one file corrects what another has brought. */
export function corrected(
  reads: ReadonlyMap<string, Value>,
  by: ReadonlyMap<string, Value>,
): ReadonlyMap<string, Value> {
  return new Map([...reads, ...by])
}

export function total(values: Iterable<Value>): RowSum {
  let sum = noSum
  for (const { micros } of values) sum = plus(sum, micros)
  return sum
}
