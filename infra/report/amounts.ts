import { addQuantities } from '../../pipeline/ledger/sums.js'
import { grouped } from '../commands/output/table.js'

/** Where a value is missing. */
export const missing = '–'

/** A decimal with so many places, rounded half away from zero, in groups of three digits. */
export function rounded(decimal: string, places: number): string {
  const [whole = '', rest = ''] = decimal.replace('-', '').split('.')
  const up = (rest[places] ?? '0') >= '5' ? 1n : 0n
  const kept = BigInt(whole + rest.slice(0, places).padEnd(places, '0')) + up
  const digits = kept.toString().padStart(places + 1, '0')
  const at = digits.length - places
  const text = places === 0 ? digits : `${digits.slice(0, at)}.${digits.slice(at)}`
  return `${decimal.startsWith('-') && kept !== 0n ? '-' : ''}${grouped(text)}`
}

/** 1 bill, 2 bills. */
export function counted(count: number, noun: string): string {
  return `${grouped(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** Dollars with two decimals. */
export function money(amount: string | null): string {
  return amount === null ? missing : rounded(amount, 2)
}

/** The same with the sign of the currency, where no title names it. */
export function dollars(amount: string): string {
  return money(amount).replace(/^-?/, '$&$$')
}

/** A quantity with its unit. */
export function energy(quantity: string, unit: string): string {
  return `${rounded(quantity, 3)} ${unit}`.trimEnd()
}

/** `part` of `whole` in percent. Rounded down, so that 100 % means all. */
export function percentOf(part: number, whole: number): string {
  return whole === 0 ? missing : `${(Math.floor((1_000 * part) / whole) / 10).toFixed(1)} %`
}

/** The exact sum of decimals; null if there are none. */
export function sumOf(decimals: readonly (string | null)[]): string | null {
  const there = decimals.filter((one) => one !== null)
  return there.length === 0 ? null : addQuantities(...there)
}
