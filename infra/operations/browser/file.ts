import type { FileDetail, Reject } from '../file.js'
import { badge, el, find } from './elements.js'
import { table } from './tables.js'
import { countText, instantText, printableName } from './text.js'

const main = find('#main')
const pulse = find('#pulse')
const arrival = Number(new URLSearchParams(location.search).get('arrival'))
const refreshMs = 5_000
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
  const quantities: Readonly<Record<string, string>> = {
    ...quantity,
    held: held?.quantity ?? '',
  }
  return section(
    'Receipt',
    table(
      'Rows by outcome',
      [
        { title: 'outcome', cell: ([name]) => name },
        { title: 'rows', right: true, cell: ([, number]) => countText(number) },
        { title: 'quantity', right: true, cell: ([name]) => quantities[name] ?? '' },
      ],
      all,
    ),
    facts([
      ['Received', instantText(receipt.receivedAt)],
      ['Published', receipt.publishedAt && instantText(receipt.publishedAt)],
      ['Meters', receipt.meters ? countText(receipt.meters) : ''],
      ['First interval', receipt.firstIntervalStart && instantText(receipt.firstIntervalStart)],
      ['Last interval ends', receipt.lastIntervalEnd && instantText(receipt.lastIntervalEnd)],
      ['Rows rounded', receipt.roundedRows ? countText(receipt.roundedRows) : ''],
      ['sha256', receipt.fileId],
      ['Notes', (receipt.notes ?? []).join('; ')],
    ]),
  )
}

const clocks = {
  wall: 'Times are local wall-clock times. In the repeated hour, a meter’s first row is daylight time, its second row standard time. Times in the skipped hour are rejected (NONEXISTENT_TIME).',
  standard: 'Times are standard time all year; no hour is skipped or repeated.',
} as const

function times(detail: FileDetail): HTMLElement | undefined {
  const { receipt, clock, clockChanges, rejectKinds } = detail
  if (receipt?.dateOrder === undefined || receipt.dateOrder === null) return undefined
  const skipped = rejectKinds.filter(({ code }) => code === 'NONEXISTENT_TIME')
  const days = clockChanges.map(({ day, hours }) => `${day} has ${hours} hours`)
  return section(
    'Dates and clock',
    facts([
      ['Timestamp format', receipt.timestampFormat],
      ['Order of day and month', receipt.dateOrder],
      ['Proof', receipt.dateOrderProof],
      ['Clock', clocks[clock]],
      ['Clock changes in the file', days.length === 0 ? 'none' : days.join(', ')],
      ['Rows in the repeated hour, second pass', countText(receipt.repeatedHourRows ?? 0)],
      ['Rows in a skipped hour', countText(skipped.reduce((sum, { rows }) => sum + rows, 0))],
    ]),
  )
}

const meanings = {
  retry:
    'Process the file again, unchanged. Use it after fixing the profile or registering customers.',
  accept: 'Publish the accepted rows of the file; rejected rows stay rejected.',
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
          'Reprocessed as ',
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
      `${act} by ${who} (${via}), ${instantText(String(at))}, audit log entry ${number}`,
    ),
  )
  return section(
    'Actions',
    ...(reprocessed === undefined ? buttons : []),
    again,
    el('ul', {}, ...log),
  )
}

function confirmAct(act: 'retry' | 'accept'): void {
  const dialog = el('dialog', { 'aria-label': `${act} this file?` })
  const yes = el('button', { type: 'button', class: 'strong' }, `${act} this file`)
  const no = el('button', { type: 'button' }, 'cancel')
  yes.addEventListener('click', () => {
    dialog.close()
    void perform(act)
  })
  no.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  dialog.append(
    el('p', {}, meanings[act]),
    el(
      'p',
      {},
      'The file is processed again as a new arrival. The action is recorded in the audit log.',
    ),
    el('p', {}, yes, ' ', no),
  )
  document.body.append(dialog)
  dialog.showModal()
}

async function perform(act: 'retry' | 'accept'): Promise<void> {
  try {
    show(await ask<FileDetail>(`files/${arrival}/${act}`, 'POST'))
  } catch (error) {
    showStatus((error as Error).message, 'bad')
  }
}

function show(detail: FileDetail): void {
  const text = JSON.stringify(detail)
  if (text === shown) return
  shown = text
  document.title = `${printableName(detail.name)} · Tieline operations`
  const { status, fault, todo, receipt } = detail
  const parts = [
    el('h1', { class: 'file' }, printableName(detail.name)),
    el(
      'p',
      {},
      badge(status),
      ` arrival ${detail.arrival} from ${detail.source}, ${instantText(detail.arrivedAt)}`,
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
  const pageButton = (text: string, from: number, isOpen: boolean) => {
    const button = el('button', { type: 'button', disabled: !isOpen }, text)
    button.addEventListener('click', () => void showRejects({ rejectKinds } as FileDetail, from))
    return button
  }
  rejectsPlace.replaceChildren(
    heading,
    table(
      'Rejected rows by code',
      [
        { title: 'code', cell: ({ code }) => code },
        { title: 'column', cell: ({ column }) => column || 'whole row' },
        { title: 'rows', right: true, cell: ({ rows }) => countText(rows) },
      ],
      rejectKinds,
    ),
    table(
      after === 0 ? 'First rejected rows' : `Rejected rows after line ${countText(after)}`,
      [
        { title: 'line', right: true, cell: ({ line }) => countText(line) },
        { title: 'column', cell: ({ column }) => column },
        { title: 'code', cell: ({ code }) => code },
        { title: 'reason', cell: ({ detail }) => el('span', { class: 'words' }, detail) },
        { title: 'row', cell: ({ raw }) => el('code', {}, raw) },
      ],
      page.rejects,
    ),
    el(
      'p',
      {},
      pageButton('First page', 0, after > 0),
      ' ',
      pageButton('Next page', page.rejects.at(-1)?.line ?? after, !page.isLast),
    ),
  )
}

function showStatus(text: string, state: 'good' | 'bad'): void {
  pulse.textContent = text
  pulse.className = state
}

async function refresh(): Promise<void> {
  try {
    show(await ask<FileDetail>(`files/${arrival}`))
    showStatus('live', 'good')
  } catch (error) {
    showStatus((error as Error).message, 'bad')
    if (shown === '') main.replaceChildren(el('p', { class: 'fault' }, (error as Error).message))
  }
  setTimeout(() => void refresh(), refreshMs)
}

void refresh()
