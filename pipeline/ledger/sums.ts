import { formatQuantity, parseTotal } from '../../schemas/quantity.js'

/** Rows and the sum of their quantities, a decimal string as sent. */
export interface Counted {
  readonly rows: number
  readonly quantity: string
}

export const noneCounted: Counted = { rows: 0, quantity: '0' }

export function addCounted(...all: readonly Counted[]): Counted {
  return {
    rows: all.reduce((sum, { rows }) => sum + rows, 0),
    quantity: addQuantities(...all.map(({ quantity }) => quantity)),
  }
}

/** The exact sum of decimal strings. */
export function addQuantities(...quantities: readonly string[]): string {
  return formatQuantity(quantities.reduce((sum, quantity) => sum + toMicros(quantity), 0n))
}

/** `from` minus all others, exact. */
export function subtractQuantities(from: string, ...quantities: readonly string[]): string {
  return formatQuantity(quantities.reduce((left, one) => left - toMicros(one), toMicros(from)))
}

/** Sums come from our own store and ledger: an invalid one is a programming error. */
export function toMicros(quantity: string): bigint {
  const total = parseTotal(quantity)
  if (total === undefined) throw new Error(`${quantity} is not a sum of quantities`)
  return total
}
