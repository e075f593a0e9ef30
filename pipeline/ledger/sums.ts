import { formatQuantity, parseTotal } from '../../schemas/quantity.js'

/** The exact sum of decimal strings. */
export function addQuantities(...quantities: readonly string[]): string {
  return formatQuantity(quantities.reduce((sum, quantity) => sum + toMicros(quantity), 0n))
}

/** `from` less all others, exact. */
export function subtractQuantities(from: string, ...quantities: readonly string[]): string {
  return formatQuantity(quantities.reduce((left, one) => left - toMicros(one), toMicros(from)))
}

/** Sums come from our own store and ledger: one that does not read is a wrong program. */
export function toMicros(quantity: string): bigint {
  const total = parseTotal(quantity)
  if (total === undefined) throw new Error(`${quantity} is no sum of quantities`)
  return total
}
