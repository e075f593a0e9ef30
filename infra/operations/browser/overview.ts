import type { PanelUpdate } from '../live.js'
import { showStatus } from './elements.js'
import { html, render } from './lit-html.js'
import { time } from './text.js'
import { views } from './views.js'

const latest = new Map<string, PanelUpdate>()

/**
 * Updates a panel in place. Figures that a fault hides stay in the page, so that tables which the
 * reader has opened are open again afterwards.
 */
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
  const { fault, figures = before?.figures } = update
  latest.set(update.name, { ...update, figures })
  const problem =
    fault && html`<p class="fault"><strong>${fault.code}</strong>: ${fault.detail}</p>`
  const content = figures === undefined ? '' : view(figures as never)
  render(html`${problem}<div ?hidden=${fault !== undefined}>${content}</div>`, section)
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
