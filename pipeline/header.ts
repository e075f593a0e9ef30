import { Fault } from '../schemas/fault.js'
import { parseRow } from './csv.js'

/**
 * Refuses a file whose first line is not the feed's header. Names are compared without case and
 * surrounding blanks, in order.
 */
export function proveHeader(line: string, columns: readonly string[]): void {
  const found = parseRow(line.replace(/^\uFEFF/, '').replace(/\r$/, ''))
  const same =
    found?.length === columns.length &&
    columns.every((column, at) => found[at]?.trim().toLowerCase() === column.toLowerCase())
  if (same) return
  throw new Fault(
    'HEADER',
    `expected ${columns.join(',')}, found ${printable(line)}; send it with these columns`,
  )
}

const shownMax = 120

function printable(text: string): string {
  const shown = text.slice(0, shownMax).replace(/[^\x20-\x7E]/g, '?')
  return text.length > shownMax ? `${shown}... (${text.length} characters)` : shown || 'nothing'
}
