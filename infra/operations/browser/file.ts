import type { FileDetail, Reject } from '../file.js'
import { badge, el, find } from './elements.js'
import { table } from './tables.js'
import { count, instant, printable } from './text.js'

const main = find('#main')
const pulse = find('#pulse')
const arrival = Number(new URLSearchParams(location.search).get('arrival'))
const askEveryMs = 5_000
let shown = ''
let rejectsShown = -1
const rejectsPlace = el('section', { 'aria-labelledby': 'rejects' })

interface Refused {
  readonly code?: string
  readonly detail: string
  readonly todo?: string
}

async function ask<T>(path: string, method = 'GET'): Promise<T> {
  const answer = await fetch(path, { method })
  const body = (await answer.json()) as T | Refused
  if (!answer.ok) throw new Error(describe(body as Refused))
  return body as T
}

function describe({ code, detail, todo }: Refused): string {
  return [code, detail, todo].filter((part) => part !== undefined).join(': ')
}

function facts(
  pairs: readonly (readonly [string, string | Node | undefined | null])[],
): HTMLElement {
  const known = pairs.filter(([, value]) => value !== undefined && value !== null && value !== '')
  return el(
    'dl',
    {},
    ...known.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value as string | Node)]),
  )
}

function section(title: string, ...children: readonly (Node | undefined)[]): HTMLElement {
  return el('section', {}, el('h2', {}, title), ...children)
}

function outcomes({ receipt }: FileDetail): HTMLElement | undefined {
  if (receipt === undefined) return undefined
  const { rows, quantity, held } = receipt
  const all = Object.entries({ ...rows, held: held?.rows ?? 0 })
  const energy: Readonly<Record<string, string>> = {
    ...quantity,
    held: held?.quantity ?? '',
  }
  return section(
    'Receipt',
    table(
      'Where its rows went',
      [
        { title: 'rows', cell: ([name]) => name },
        { title: 'number', right: true, cell: ([, number]) => count(number) },
        { title: 'quantity', right: true, cell: ([name]) => energy[name] ?? '' },
      ],
      all,
    ),
    facts([
      ['Taken in', instant(receipt.receivedAt)],
      ['Published', receipt.publishedAt && instant(receipt.publishedAt)],
      ['Meters', receipt.meters ? count(receipt.meters) : ''],
      ['First interval', receipt.firstIntervalStart && instant(receipt.firstIntervalStart)],
      ['Last interval ends', receipt.lastIntervalEnd && instant(receipt.lastIntervalEnd)],
      ['Rows rounded', receipt.roundedRows ? count(receipt.roundedRows) : ''],
      ['sha256', receipt.fileId],
      ['Notes', (receipt.notes ?? []).join('; ')],
    ]),
  )
}

const clocks = {
  wall: 'Times are those of the clock on the wall: in the repeated hour a meter’s first row is daylight time, the second standard time; a time in the skipped hour is rejected (NONEXISTENT_TIME).',
  standard: 'Times are standard time all year: no hour is skipped or repeated.',
} as const

function times(detail: FileDetail): HTMLElement | undefined {
  const { receipt, clock, clockChanges, rejectKinds } = detail
  if (receipt?.dateOrder === undefined || receipt.dateOrder === null) return undefined
  const skipped = rejectKinds.filter(({ code }) => code === 'NONEXISTENT_TIME')
  const days = clockChanges.map(({ day, hours }) => `${day} has ${hours} hours`)
  return section(
    'Dates and clock',
    facts([
      ['Written as', receipt.timestampFormat],
      ['Order of day and month', receipt.dateOrder],
      ['Proof', receipt.dateOrderProof],
      ['Clock', clocks[clock]],
      ['Clock changes in it', days.length === 0 ? 'none' : days.join(', ')],
      ['Rows in the repeated hour, second time', count(receipt.repeatedHourRows ?? 0)],
      ['Rows in a skipped hour', count(skipped.reduce((sum, { rows }) => sum + rows, 0))],
    ]),
  )
}

const meanings = {
  retry:
    'Judge it once more, as it is: after the profile was mended, or customers were registered.',
  accept: 'Publish its good rows; the rejected ones stay rejected.',
} as const

function acts(detail: FileDetail): HTMLElement | undefined {
  const { acts, reprocessed, entries } = detail
  if (detail.status !== 'quarantined' && entries.length === 0) return undefined
  const buttons = (['retry', 'accept'] as const).map((act) => {
    const why = acts[act]
    const button = el(
      'button',
      { type: 'button', disabled: why !== '', 'aria-describedby': `${act}-why` },
      act,
    )
    button.addEventListener('click', () => confirmAct(act))
    return el(
      'p',
      {},
      button,
      ' ',
      el('span', { id: `${act}-why` }, why === '' ? meanings[act] : why),
    )
  })
  const again =
    reprocessed?.arrival === undefined
      ? undefined
      : el(
          'p',
          {},
          'It came in again as ',
          el(
            'a',
            { href: `file?arrival=${reprocessed.arrival}` },
            `arrival ${reprocessed.arrival}`,
          ),
          '.',
        )
  const log = entries.map(({ number, at, who, via, act }) =>
    el(
      'li',
      {},
      `${act} by ${who} (${via}), ${instant(String(at))}, entry ${number} of the audit log`,
    ),
  )
  return section(
    'What can be done',
    ...(reprocessed === undefined ? buttons : []),
    again,
    el('ul', {}, ...log),
  )
}

function confirmAct(act: 'retry' | 'accept'): void {
  const dialog = el('dialog', { 'aria-label': `${act} this file?` })
  const yes = el('button', { type: 'button', class: 'strong' }, `yes, ${act} it`)
  const no = el('button', { type: 'button' }, 'leave it')
  yes.addEventListener('click', () => {
    dialog.close()
    void carryOut(act)
  })
  no.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  dialog.append(
    el('p', {}, meanings[act]),
    el(
      'p',
      {},
      'It comes in anew, as the latest arrival, and it is written down who asked for it.',
    ),
    el('p', {}, yes, ' ', no),
  )
  document.body.append(dialog)
  dialog.showModal()
}

async function carryOut(act: 'retry' | 'accept'): Promise<void> {
  try {
    show(await ask<FileDetail>(`files/${arrival}/${act}`, 'POST'))
  } catch (error) {
    beat((error as Error).message, 'bad')
  }
}

function show(detail: FileDetail): void {
  const text = JSON.stringify(detail)
  if (text === shown) return
  shown = text
  document.title = `${printable(detail.name)} · Tieline operations`
  const { status, fault, todo, receipt } = detail
  const parts = [
    el('h1', { class: 'file' }, printable(detail.name)),
    el(
      'p',
      {},
      badge(status),
      ` arrival ${detail.arrival} by ${detail.source}, ${instant(detail.arrivedAt)}`,
    ),
    receipt?.reason
      ? el('p', { class: fault === '' ? undefined : 'fault' }, receipt.reason)
      : undefined,
    todo === '' ? undefined : el('p', { class: 'todo' }, todo),
    acts(detail),
    outcomes(detail),
    times(detail),
    rejectsPlace,
  ]
  main.replaceChildren(...parts.filter((part) => part !== undefined))
  const rejected = receipt?.rows.rejected ?? 0
  if (rejected !== rejectsShown) {
    rejectsShown = rejected
    void showRejects(detail, 0)
  }
}

interface RejectPage {
  readonly rejects: readonly Reject[]
  readonly isLast: boolean
}

async function showRejects({ rejectKinds }: FileDetail, after: number): Promise<void> {
  const heading = el('h2', { id: 'rejects' }, 'Rejected rows')
  if (rejectKinds.length === 0) {
    rejectsPlace.replaceChildren(heading, el('p', { class: 'nothing' }, 'None.'))
    return
  }
  const page = await ask<RejectPage>(`files/${arrival}/rejects?after=${after}`)
  const turn = (text: string, from: number, isOpen: boolean) => {
    const button = el('button', { type: 'button', disabled: !isOpen }, text)
    button.addEventListener('click', () => void showRejects({ rejectKinds } as FileDetail, from))
    return button
  }
  rejectsPlace.replaceChildren(
    heading,
    table(
      'By what is wrong',
      [
        { title: 'code', cell: ({ code }) => code },
        { title: 'column', cell: ({ column }) => column || 'whole row' },
        { title: 'rows', right: true, cell: ({ rows }) => count(rows) },
      ],
      rejectKinds,
    ),
    table(
      `Rows behind line ${count(after)}`,
      [
        { title: 'line', right: true, cell: ({ line }) => count(line) },
        { title: 'column', cell: ({ column }) => column },
        { title: 'code', cell: ({ code }) => code },
        { title: 'why', cell: ({ detail }) => el('span', { class: 'words' }, detail) },
        { title: 'row', cell: ({ raw }) => el('code', {}, raw) },
      ],
      page.rejects,
    ),
    el(
      'p',
      {},
      turn('from the first', 0, after > 0),
      ' ',
      turn('further on', page.rejects.at(-1)?.line ?? after, !page.isLast),
    ),
  )
}

function beat(text: string, state: 'good' | 'bad'): void {
  pulse.textContent = text
  pulse.className = state
}

async function look(): Promise<void> {
  try {
    show(await ask<FileDetail>(`files/${arrival}`))
    beat('live', 'good')
  } catch (error) {
    beat((error as Error).message, 'bad')
    if (shown === '') main.replaceChildren(el('p', { class: 'fault' }, (error as Error).message))
  }
  setTimeout(() => void look(), askEveryMs)
}

void look()
