import type { ReportChart } from './chart.js'
import { html, type Markup, trusted } from './html.js'

export interface ReportColumn<T> {
  readonly title: string
  readonly right?: boolean
  readonly cell: (row: T) => string | Markup
}

/** A table; on narrow screens each row is a list of titles and values. */
export function tableOf<T>(
  caption: string,
  columns: readonly ReportColumn<T>[],
  rows: readonly T[],
): Markup {
  const side = (right?: boolean) => (right ? 'right' : 'left')
  const cellsOf = (row: T) =>
    columns.map(
      ({ title, right, cell }) =>
        html`<td class="${side(right)}" data-title="${title}"><span>${cell(row)}</span></td>`,
    )
  return html`<div class="scroll"><table><caption>${caption}</caption>
<thead><tr>${columns.map(({ title, right }) => html`<th scope="col" class="${side(right)}">${title}</th>`)}</tr></thead>
<tbody>${rows.map((row) => html`<tr>${cellsOf(row)}</tr>\n`)}</tbody></table></div>`
}

/** A chart with its caption; `values` is the same as a table. */
export function figure(
  { title, summary }: { readonly title: string; readonly summary: string },
  chart: ReportChart,
  values: Markup,
): Markup {
  return html`<figure>
<figcaption>${summary}</figcaption>
<div class="chart" role="img" aria-label="${title}. ${summary}"><script type="application/json">${jsonOf(chart)}</script></div>
<details><summary>${title}: values</summary>${values}</details>
</figure>
`
}

/** JSON that cannot end its script element. */
function jsonOf(value: unknown): Markup {
  return trusted(JSON.stringify(value).replace(/\p{C}/gu, '?').replaceAll('<', '\\u003c'))
}

const barWidth = 200

/** A bar from zero to the value on a scale of both signs; a longer bar is a larger part of `most`. */
export function signedBar(value: number, most: number): Markup {
  const half = barWidth / 2
  const length = most === 0 ? 0 : Math.max(1, Math.round((half * Math.abs(value)) / most))
  const from = value < 0 ? half - length : half
  return html`<svg class="cause" viewBox="0 0 ${barWidth} 12" preserveAspectRatio="none" aria-hidden="true"><rect class="${value < 0 ? 'less' : 'more'}" x="${from}" y="1" width="${value === 0 ? 0 : length}" height="10"/><rect class="zero" x="${half - 0.5}" y="0" width="1" height="12"/></svg>`
}
