import { existsSync, readFileSync } from 'node:fs'
import { arrivalPaths } from '../../../pipeline/ledger/outbox.js'
import { submitted } from '../../../pipeline/sources/folder.js'
import { keptPath } from '../../../pipeline/verify/archive.js'
import { formatQuantity, parseTotal } from '../../../schemas/quantity.js'
import { receiptSchema } from '../../../schemas/receipt.js'
import type { Rig } from '../../rig.js'

const kinds = ['read', 'accepted', 'duplicate', 'superseded', 'rejected'] as const

/**
 * What the receipt of an arrival says of rows and quantities, in the words of `recorded` of the ledger;
 * in words, too, if there is none.
 */
export function receiptOf({ home }: Rig, arrival: number, fileName: string): string {
  const path = arrivalPaths(home.outbox, { arrival, fileName }).receipt
  if (!existsSync(path)) return 'no receipt'
  const receipt = receiptSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  const { rows, quantity, restated } = receipt
  const say = (count: number, sum = '0') => `${count} ${formatQuantity(parseTotal(sum) ?? 0n)}`
  const sums = kinds.map((kind) => say(rows[kind], quantity?.[kind]))
  return [...sums, say(restated?.rows ?? 0, restated?.netQuantity)].join(', ')
}

/** Whether the file of an arrival is where it must be: one that a person named stays in its place. */
export function isKept({ home }: Rig, source: string, named: Named): boolean {
  return source === submitted || existsSync(keptPath(home.archive, named))
}

interface Named {
  readonly arrival: number
  readonly fileName: string
}
