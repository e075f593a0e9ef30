import type { Attention } from '../panels/attention.js'
import type { StuckFile } from '../problems.js'
import { badge, el, nothing } from './elements.js'
import { countText, instantText, printableName } from './text.js'

/** A link to the page of a file. */
export function fileLink(arrival: number, name: string): HTMLElement {
  return el('a', { href: `file?arrival=${arrival}`, class: 'file' }, printableName(name))
}

/** Problems: servers, sources and files, each with its remedy. */
export function attention({
  waiting,
  waitingFiles,
  quarantined,
  away,
  failing,
}: Attention): readonly Node[] {
  const item = (state: string, about: Node | string, [code, detail, todo]: readonly string[]) =>
    el(
      'li',
      {},
      badge(state),
      ' ',
      about,
      el('p', {}, el('strong', {}, code ?? ''), `: ${detail}`),
      el('p', { class: 'todo' }, todo ?? ''),
    )
  const listed = (stuck: readonly StuckFile[], state: string) =>
    stuck.map(({ arrival, file, code, reason, todo, since }) =>
      item(state, fileLink(arrival, file), [code, reason, `${todo} Since ${instantText(since)}.`]),
    )
  const items = [
    ...away.map(({ code, detail }) =>
      el(
        'li',
        {},
        badge('failing'),
        ' ',
        el('strong', {}, code),
        el('p', {}, `${detail} Files wait until the server answers.`),
      ),
    ),
    ...failing.map(({ name, code, detail, todo, since }) =>
      item('failing', `source ${name}`, [code, detail, `${todo} Since ${instantText(since)}.`]),
    ),
    ...listed(waiting, 'waiting'),
    ...(waitingFiles > waiting.length
      ? [el('li', {}, `${countText(waitingFiles - waiting.length)} more files are waiting.`)]
      : []),
    ...listed(quarantined, 'quarantined'),
  ]
  if (items.length === 0) return nothing('No problems. No file is waiting or quarantined.')
  return [el('ul', { class: 'attention' }, ...items)]
}
