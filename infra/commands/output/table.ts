/** One column of a table; numbers are right-aligned. */
export interface TableColumn<T> {
  readonly title: string
  readonly right?: boolean
  readonly cell: (row: T) => string
}

/** A table for a terminal: heading, rule, one line per row. */
export function renderTable<T>(columns: readonly TableColumn<T>[], rows: readonly T[]): string {
  const grid = rows.map((row) => columns.map((column) => printable(column.cell(row))))
  const widths = columns.map((column, index) =>
    Math.max(column.title.length, ...grid.map((cells) => cells[index]?.length ?? 0)),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, index) => pad(cell, widths[index] ?? 0, columns[index]?.right ?? false))
      .join('  ')
      .trimEnd()
  const rule = widths.map((width) => '─'.repeat(width)).join('  ')
  return [line(columns.map((column) => column.title)), rule, ...grid.map(line)].join('\n')
}

/** 1234567 as 1,234,567; decimal places are unchanged. */
export function grouped(value: number | string | bigint): string {
  const [whole = '', rest] = String(value).split('.')
  const digits = whole.replace(/\B(?=(\d{3})+$)/g, ',')
  return rest === undefined ? digits : `${digits}.${rest}`
}

/** Bytes in the largest unit with a value of at least 1. */
export function bytesText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'] as const
  let value = bytes
  let unit = 0
  while (value >= 1_000 && unit < units.length - 1) {
    value /= 1_000
    unit++
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit]}`
}

/** An instant in UTC, to the second: `2026-03-01 05:00:00`. */
export function utcText(at: Date | string): string {
  const iso = typeof at === 'string' ? at : at.toISOString()
  return iso.slice(0, 19).replace('T', ' ')
}

/** Replaces control characters: a sender's text could control the terminal or break a line. */
export function printable(text: string): string {
  return text.replace(/\p{C}/gu, '?')
}

function pad(text: string, width: number, right: boolean): string {
  return right ? text.padStart(width) : text.padEnd(width)
}
