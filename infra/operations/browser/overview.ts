import type { PanelUpdate } from '../live.js'
import { el, find } from './elements.js'
import { time } from './text.js'
import { views } from './views.js'

const pulse = find('#pulse')
const latest = new Map<string, PanelUpdate>()

/** Updates a panel, unless the reader has opened or focused part of it. */
function show(update: PanelUpdate): void {
  const section = document.querySelector<HTMLElement>(`[data-panel="${update.name}"]`)
  const view = views[update.name]
  if (section === null || view === undefined) return
  const before = latest.get(update.name)
  latest.set(update.name, update)
  section.dataset['at'] = update.at
  const isSame =
    JSON.stringify(before?.figures ?? before?.fault) ===
    JSON.stringify(update.figures ?? update.fault)
  if (before !== undefined && isSame && update.name !== 'freshness') return
  if (section.querySelector('details[open]') !== null || hasFocus(section)) {
    if (update.fault === undefined && before?.fault === undefined) return
  }
  const heading = section.querySelector('h2') as HTMLElement
  const shown = update.fault === undefined ? view(update.figures as never) : [fault(update.fault)]
  const scrolled = [...section.querySelectorAll('.scroll')].map((one) => one.scrollLeft)
  section.replaceChildren(heading, ...shown)
  for (const [index, one] of [...section.querySelectorAll('.scroll')].entries()) {
    one.scrollLeft = scrolled[index] ?? 0
  }
}

/** Whether the reader has focused something in the section. */
function hasFocus(section: HTMLElement): boolean {
  const active = document.activeElement
  return active !== null && active !== section && section.contains(active)
}

function fault({ code, detail }: NonNullable<PanelUpdate['fault']>): HTMLElement {
  return el('p', { class: 'fault' }, el('strong', {}, code), `: ${detail}`)
}

function showStatus(text: string, state: 'good' | 'bad'): void {
  pulse.textContent = text
  pulse.className = state
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
    if (stream.readyState === EventSource.CLOSED) setTimeout(resume, retryMs)
  })
  return stream
}

/** A browser reconnects after a network failure, but not after an error response. */
function resume(): void {
  if (!document.hidden && stream.readyState === EventSource.CLOSED) stream = connect()
}

// A hidden tab closes its stream, so that a forgotten one costs nothing.
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
