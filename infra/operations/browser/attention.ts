import type { Attention } from '../panels/attention.js'
import type { StuckFile } from '../problems.js'
import { badge, type Content, empty } from './elements.js'
import { html } from './lit-html.js'
import { countText, instantText, printableName } from './text.js'

/** A link to the page of a file. */
export function fileLink(arrival: number, name: string): Content {
  return html`<a href="file?arrival=${arrival}" class="file">${printableName(name)}</a>`
}

interface Item {
  readonly code: string
  readonly detail: string
  readonly todo: string
  readonly since: string
}

function item(state: string, about: Content, { code, detail, todo, since }: Item): Content {
  const remedy = html`<p class="todo">${todo} Since ${instantText(since)}.</p>`
  return html`<li>${badge(state)} ${about}<p><strong>${code}</strong>: ${detail}</p>${remedy}</li>`
}

/** Problems: servers, sources and files, each with its remedy. */
export function attention(found: Attention): Content {
  const { waiting, waitingFiles, quarantined, away, failing } = found
  const { missing, missingCount, missingTodo } = found
  const unlistedMissing = missingCount - missing.length
  const listed = (stuck: readonly StuckFile[], state: string) =>
    stuck.map((one) => item(state, fileLink(one.arrival, one.file), { ...one, detail: one.reason }))
  const unlisted = waitingFiles - waiting.length
  const items = [
    ...away.map(({ code, detail }) => {
      const effect = html`<p>${detail} Files wait until the server answers.</p>`
      return html`<li>${badge('failing')} <strong>${code}</strong>${effect}</li>`
    }),
    ...missing.map(({ kind, detail, since }) => {
      const code = kind === 'rows' ? 'MISSING' : 'DAMAGED'
      return item('failing', '', { code, detail, todo: missingTodo, since })
    }),
    ...(unlistedMissing > 0
      ? [html`<li>${countText(unlistedMissing)} more are missing or damaged.</li>`]
      : []),
    ...failing.map((one) => item('failing', `source ${one.name}`, one)),
    ...listed(waiting, 'waiting'),
    ...(unlisted > 0 ? [html`<li>${countText(unlisted)} more files are waiting.</li>`] : []),
    ...listed(quarantined, 'quarantined'),
  ]
  if (items.length === 0) return empty('No problems. No file is waiting or quarantined.')
  return html`<ul class="attention">${items}</ul>`
}
