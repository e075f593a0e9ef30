import { el } from './elements.js'

/** A column of a table; numbers are right-aligned. */
export interface PageColumn<T> {
  readonly title: string
  readonly right?: boolean
  readonly cell: (row: T) => Node | string
}

/** A table that is wider than its container can be scrolled, by keyboard too. */
export function table<T>(
  caption: string,
  columns: readonly PageColumn<T>[],
  rows: readonly T[],
): HTMLElement {
  const head = columns.map(({ title, right }) =>
    el('th', { scope: 'col', class: right && 'right' }, title),
  )
  const body = rows.map((row) =>
    el(
      'tr',
      {},
      ...columns.map(({ cell, right }) => el('td', { class: right && 'right' }, cell(row))),
    ),
  )
  const inner = el(
    'table',
    {},
    el('caption', {}, caption),
    el('thead', {}, el('tr', {}, ...head)),
    el('tbody', {}, ...body),
  )
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption }, inner)
}
