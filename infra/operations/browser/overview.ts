import type { ShownFault } from '../judge.js'
import type { PanelUpdate } from '../live.js'
import type { Attention } from '../panels/attention.js'
import { listServers } from './attention.js'
import { type Content, showStatus } from './elements.js'
import { html, render } from './lit-html.js'
import { checkSession, showSession } from './session.js'
import { span, time } from './text.js'
import { views } from './views.js'

const latest = new Map<string, PanelUpdate>()

/** Updates a panel in place: tables that the reader has opened stay open. */
function show(update: PanelUpdate): void {
  const section = document.querySelector<HTMLElement>(`[data-panel="${update.name}"]`)
  const view = views[update.name]
  if (section === null || view === undefined) return
  section.dataset['at'] = update.at
  const before = latest.get(update.name)
  if (update.name !== 'freshness' && isSame(before, update)) return
  // Rows must not move under a link that the reader is about to follow.
  if (
    update.fault === undefined &&
    before?.fault === undefined &&
    section.querySelector('a:focus')
  ) {
    return
  }
  latest.set(update.name, update)
  const { fault, figures } = update
  const content = figures === undefined ? '' : view(figures as never)
  const isOld = fault !== undefined
  render(
    html`${isOld ? noteOf(fault, update) : ''}<div class=${isOld ? 'stale' : ''}>${content}</div>`,
    section,
  )
  showServers()
}

/** Why the figures of a panel are not new, and how old they are. */
function noteOf({ code, detail, server }: ShownFault, { at, figuresAt }: PanelUpdate): Content {
  const ageMs = figuresAt === undefined ? 0 : Date.parse(at) - Date.parse(figuresAt)
  const age =
    figuresAt === undefined ? 'no figures yet' : `figures of ${time(figuresAt)}, ${span(ageMs)} old`
  if (server !== undefined) return html`<p class="todo">${server}; ${age}.</p>`
  return html`<p class="fault"><strong>${code}</strong>: ${detail} (${age})</p>`
}

/** The servers that panels wait for, once each: the latest update says how a server is. */
function showServers(): void {
  const place = document.querySelector<HTMLElement>('#servers')
  if (place === null) return
  const faults = new Map<string, { readonly at: string; readonly fault: ShownFault }>()
  for (const { name, at, fault, figures } of latest.values()) {
    const away = name === 'attention' ? ((figures as Attention | undefined)?.away ?? []) : []
    for (const one of fault?.server === undefined ? away : [fault]) {
      const [server = ''] = one.code.split('_')
      if (at >= (faults.get(server)?.at ?? '')) faults.set(server, { at, fault: one })
    }
  }
  render(listServers([...faults.values()].map(({ fault }) => fault)), place)
}

function isSame(before: PanelUpdate | undefined, update: PanelUpdate): boolean {
  if (before === undefined || update.fault !== undefined || before.fault !== undefined) return false
  return JSON.stringify(before.figures) === JSON.stringify(update.figures)
}

let updatedAt = ''
const retryMs = 2_000

function connect(): EventSource {
  const stream = new EventSource('live')
  stream.addEventListener('message', ({ data }) => {
    const update = JSON.parse(data) as PanelUpdate
    show(update)
    if (update.at > updatedAt) updatedAt = update.at
  })
  stream.addEventListener('open', () => showStatus('live', 'good'))
  stream.addEventListener('error', () => {
    const since = updatedAt === '' ? '' : `; last update ${time(updatedAt)}`
    showStatus(`disconnected, reconnecting${since}`, 'bad')
    if (stream.readyState !== EventSource.CLOSED) return
    void checkSession()
    setTimeout(resume, retryMs)
  })
  return stream
}

/** A browser reconnects after a network failure, but not after an error response. */
function resume(): void {
  if (!document.hidden && stream.readyState === EventSource.CLOSED) stream = connect()
}

// A hidden tab closes its stream, so that a forgotten one costs nothing.
void showSession()
let stream = connect()
document.addEventListener('visibilitychange', () => {
  if (document.hidden) stream.close()
  else resume()
})
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const update of [...latest.values()]) {
    latest.delete(update.name)
    show(update)
  }
})
