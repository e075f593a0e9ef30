import { html, nothing, type TemplateResult } from './lit-html.js'

/** What a template can hold; a string becomes text, never markup. */
export type Content = TemplateResult | Node | string | number

/** A bar of a share of its container; hidden from screen readers, which read the value in text. */
export function bar(share: number, kind: 'good' | 'warn' | 'bad' = 'good'): Content {
  const width = `width: ${Math.max(0, Math.min(1, share)) * 100}%`
  return html`<span class="bar" aria-hidden="true"
    ><span class="fill ${kind}" .style=${width}></span
  ></span>`
}

/** The state of a file or a source, as a word with a colour. */
export function badge(state: string): Content {
  return html`<span class="badge ${kinds[state] ?? 'plain'}">${state}</span>`
}

const kinds: Readonly<Record<string, string>> = {
  published: 'good',
  polled: 'good',
  quarantined: 'bad',
  failing: 'bad',
  late: 'bad',
  waiting: 'warn',
  paused: 'warn',
  busy: 'warn',
}

/** Text that does not wrap. */
export function oneLine(text: string): Content {
  return html`<span class="whole">${text}</span>`
}

/** The text of an empty panel. */
export function empty(text: string): Content {
  return html`<p class="nothing">${text}</p>`
}

/** A column of a table; numbers are right-aligned. */
export interface PageColumn<T> {
  readonly title: string
  readonly right?: boolean
  readonly cell: (row: T) => Content
}

/**
 * A table that is wider than its container can be scrolled, by keyboard too. On a telephone each row is
 * a list of its cells with their titles, so that no column is out of sight.
 */
export function table<T>(
  caption: string,
  columns: readonly PageColumn<T>[],
  rows: readonly T[],
): Content {
  const side = (right?: boolean) => (right ? 'right' : nothing)
  const head = columns.map(
    ({ title, right }) => html`<th scope="col" class=${side(right)}>${title}</th>`,
  )
  const cells = (row: T) =>
    columns.map(
      ({ title, cell, right }) =>
        html`<td class=${side(right)} data-title=${title}>${cell(row)}</td>`,
    )
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${caption}>
    <table>
      <caption>${caption}</caption>
      <thead><tr>${head}</tr></thead>
      <tbody>${rows.map((row) => html`<tr>${cells(row)}</tr>`)}</tbody>
    </table>
  </div>`
}

export function find<T extends HTMLElement>(selector: string): T {
  const found = document.querySelector<T>(selector)
  if (found === null) throw new TypeError(`the page has no ${selector}`)
  return found
}

/** Says in the header whether the page is live. */
export function showStatus(text: string, state: 'good' | 'bad'): void {
  const pulse = find('#pulse')
  pulse.textContent = text
  pulse.className = state
}
