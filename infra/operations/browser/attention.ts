import type { ShownFault } from '../judge.js'
import type { Attention } from '../panels/attention.js'
import type { StuckFile } from '../problems.js'
import { confirmDismiss } from './dismiss.js'
import { badge, type Content, empty } from './elements.js'
import { html } from './lit-html.js'
import { countText, instantText, printableText, time } from './text.js'

/** A link to the page of a file. */
export function fileLink(arrival: number, name: string): Content {
  if (arrival === 0) return html`${printableText(name)}`
  return html`<a href="file?arrival=${arrival}" class="file">${printableText(name)}</a>`
}

interface Item {
  readonly key: string
  readonly code: string
  readonly detail: string
  readonly todo: string
  readonly since: string
}

function item(state: string, about: Content, one: Item): Content {
  const { key, code, detail, todo, since } = one
  const remedy = html`<p class="todo">${todo} Since ${instantText(since)}.</p>`
  const button = html`<button type="button" @click=${() => confirmDismiss(key)}>dismiss</button>`
  return html`<li>${badge(state)} ${about}<p><strong>${code}</strong>: ${printableText(detail)}</p>${remedy}${button}</li>`
}

/** Servers that do not answer in time: one line each, whatever panels they concern. */
export function listServers(faults: readonly ShownFault[]): Content {
  const items = faults.map(({ code, detail, server }) => {
    const isBusy = code === 'STORE_BUSY'
    const effect = isBusy ? 'Panels show earlier figures.' : 'Files wait until the server answers.'
    return html`<li>${badge(isBusy ? 'busy' : 'failing')} <strong>${code}</strong>: ${server}.
      <p class="todo">${detail.replace(/\.?$/, '.')} ${effect}</p></li>`
  })
  return items.length === 0 ? '' : html`<ul class="attention">${items}</ul>`
}

function systemText({ name, failures }: Attention['systems'][number]): string {
  if (failures === 0) return `${name}, no failed request yet`
  return `${name}, ${countText(failures)} failed ${failures === 1 ? 'request' : 'requests'}`
}

function runText({ job, cycle, first, last }: Attention['runs'][number]): string {
  return job === 'bill' ? `bills of cycle ${cycle}, ${first} to ${last}` : `rates of cycle ${cycle}`
}

/** Problems: sources, systems, bills and files, each with its remedy. */
export function attention(found: Attention): Content {
  const { waiting, waitingFiles, quarantined, away, failing, systems, runs } = found
  const { missing, missingCount, missingTodo } = found
  const unlistedMissing = missingCount - missing.length
  const listed = (stuck: readonly StuckFile[], state: string) =>
    stuck.map((one) => item(state, fileLink(one.arrival, one.file), { ...one, detail: one.reason }))
  const unlisted = waitingFiles - waiting.length
  const items = [
    ...missing.map(({ key, kind, detail, since }) => {
      const code = kind === 'rows' ? 'MISSING' : 'DAMAGED'
      return item('failing', '', { key, code, detail, todo: missingTodo, since })
    }),
    ...(unlistedMissing > 0
      ? [html`<li>${countText(unlistedMissing)} more are missing or damaged.</li>`]
      : []),
    ...failing.map((one) =>
      item('failing', `source ${one.name}`, { ...one, key: `source:${one.name}` }),
    ),
    ...systems.map((one) =>
      item('failing', systemText(one), { ...one, key: `system:${one.system}` }),
    ),
    ...runs.map((one) => item('failing', runText(one), one)),
    ...listed(waiting, 'waiting'),
    ...(unlisted > 0 ? [html`<li>${countText(unlisted)} more files are waiting.</li>`] : []),
    ...listed(quarantined, 'quarantined'),
  ]
  const list = html`<ul class="attention">${items}</ul>`
  if (away.some(({ code }) => code.startsWith('STORE_'))) {
    const age = html`<p class="todo">Other problems as of ${time(found.readAt)}.</p>`
    return items.length === 0 ? '' : html`<div class="stale">${age}${list}</div>`
  }
  if (items.length > 0) return list
  return away.length > 0
    ? ''
    : empty(
        'No file is waiting or quarantined, nothing is missing, and no source, system or bill run fails. Late data is listed under Data freshness.',
      )
}
