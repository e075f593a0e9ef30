import type { HealedShown } from '../../commands/output/healed-shown.js'
import { type Content, empty, table } from './elements.js'
import { html } from './lit-html.js'
import { countText, printableText } from './text.js'

/** Restarts of parts and outages of servers, sources and systems that are over. */
export function healed(shown: readonly HealedShown[]): Content {
  if (shown.length === 0) return empty('Nothing failed and recovered in the last 7 days.')
  return table(
    'Failures that ended without an operator',
    [
      { title: 'part or system', cell: ({ name }) => name },
      { title: 'event', cell: ({ event }) => event },
      { title: 'failed since, UTC', cell: ({ began }) => began },
      { title: 'healed at, UTC', cell: ({ healed }) => healed },
      { title: 'times', right: true, cell: ({ times }) => countText(times) },
      {
        title: 'reason',
        cell: ({ code, detail }) =>
          html`<span class="file">${printableText(code === '' ? detail : `${code}: ${detail}`)}</span>`,
      },
    ],
    shown,
  )
}
