import type { PanelUpdate } from '../live.js'
import { el, find } from './elements.js'
import { time } from './text.js'
import { views } from './views.js'

const pulse = find('#pulse')
const latest = new Map<string, PanelUpdate>()

/** What was open or focused stays so: figures change under the reader's eyes. */
function show(told: PanelUpdate): void {
  const section = document.querySelector<HTMLElement>(`[data-panel="${told.name}"]`)
  const view = views[told.name]
  if (section === null || view === undefined) return
  const before = latest.get(told.name)
  latest.set(told.name, told)
  section.dataset['at'] = told.at
  const isSame =
    JSON.stringify(before?.figures ?? before?.fault) === JSON.stringify(told.figures ?? told.fault)
  if (before !== undefined && isSame && told.name !== 'freshness') return
  if (section.querySelector('details[open]') !== null || isHeld(section)) {
    if (told.fault === undefined && before?.fault === undefined) return
  }
  const heading = section.querySelector('h2') as HTMLElement
  const shown = told.fault === undefined ? view(told.figures as never) : [fault(told.fault)]
  const scrolled = [...section.querySelectorAll('.scroll')].map((one) => one.scrollLeft)
  section.replaceChildren(heading, ...shown)
  for (const [index, one] of [...section.querySelectorAll('.scroll')].entries()) {
    one.scrollLeft = scrolled[index] ?? 0
  }
}

/** Whoever reads a table by the keyboard, or marks text in it, has it left alone. */
function isHeld(section: HTMLElement): boolean {
  const active = document.activeElement
  return active !== null && active !== section && section.contains(active)
}

function fault({ code, detail }: NonNullable<PanelUpdate['fault']>): HTMLElement {
  return el('p', { class: 'fault' }, el('strong', {}, code), `: ${detail}`)
}

function beat(text: string, state: 'good' | 'bad'): void {
  pulse.textContent = text
  pulse.className = state
}

let heardAt = ''
const againMs = 2_000

function listen(): EventSource {
  const stream = new EventSource('live')
  stream.addEventListener('message', ({ data }) => {
    const told = JSON.parse(data) as PanelUpdate
    show(told)
    if (told.at > heardAt) heardAt = told.at
  })
  stream.addEventListener('open', () => beat('live', 'good'))
  stream.addEventListener('error', () => {
    const since = heardAt === '' ? '' : `; figures of ${time(heardAt)}`
    beat(`no connection, trying again${since}`, 'bad')
    if (stream.readyState === EventSource.CLOSED) setTimeout(resume, againMs)
  })
  return stream
}

/** A browser tries again by itself where nobody answers, but not where it was answered an error. */
function resume(): void {
  if (!document.hidden && stream.readyState === EventSource.CLOSED) stream = listen()
}

// What nobody sees is not asked for: a forgotten tab costs the line nothing.
let stream = listen()
document.addEventListener('visibilitychange', () => {
  if (document.hidden) stream.close()
  else resume()
})
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  for (const told of [...latest.values()]) {
    latest.delete(told.name)
    show(told)
  }
})
