import type { FileDetail, Reject, RejectKind } from '../file.js'
import { badge, type Content, find, showStatus, table } from './elements.js'
import { html, nothing, render } from './lit-html.js'
import { showSession } from './session.js'
import { countText, decimalText, instantText, printableText } from './text.js'

interface RejectPage {
  /** The rejected rows after this place. */
  readonly after: number
  readonly rejects: readonly Reject[]
  readonly isLast: boolean
}

type Act = 'retry' | 'accept'

const arrival = Number(new URLSearchParams(location.search).get('arrival'))
const refreshMs = 5_000
let shown: FileDetail | undefined
let page: RejectPage | undefined

interface Refused {
  readonly code?: string
  readonly detail: string
  readonly todo?: string
}

async function ask<T>(path: string, method = 'GET'): Promise<T> {
  const answer = await fetch(path, { method })
  if (answer.status === 401) location.reload()
  const body = (await answer.json()) as T | Refused
  if (!answer.ok) throw new Error(describe(body as Refused))
  return body as T
}

function describe({ code, detail, todo }: Refused): string {
  return printableText([code, detail, todo].filter((part) => part !== undefined).join(': '))
}

function facts(pairs: readonly (readonly [string, string | undefined | null])[]): Content {
  const known = pairs.filter(([, value]) => value)
  return html`<dl>${known.map(([name, value]) => html`<dt>${name}</dt><dd>${printableText(value ?? '')}</dd>`)}</dl>`
}

const instant = (at: string | undefined | null) => at && instantText(at)
const count = (value: number | undefined | null) => (value ? countText(value) : '')

const titles = { receipt: 'Download the receipt', rejects: 'Download the rejected rows' } as const

/** The location of the file, and what can be downloaded of it. */
function copies({ location, downloads }: FileDetail): Content {
  const links = downloads.map(
    (one) => html`<a href="files/${arrival}/download/${one}" download>${titles[one]}</a> `,
  )
  const place = location === '' ? 'not kept any more' : printableText(location)
  return html`<p>Location: <span class="file">${place}</span></p><p>${links}</p>`
}

function outcomes({ receipt, unit }: FileDetail): Content {
  if (receipt === undefined) return ''
  const { rows, quantity, held, notes = [] } = receipt
  const quantities: Readonly<Record<string, string>> = { ...quantity, held: held?.quantity ?? '' }
  const counted = table(
    unit === ''
      ? 'Rows by outcome'
      : `Rows by outcome; quantities in ${unit}, the unit of the profile`,
    [
      { title: 'outcome', cell: ([name]) => name },
      { title: 'rows', right: true, cell: ([, number]) => countText(number) },
      { title: 'quantity', right: true, cell: ([name]) => decimalText(quantities[name] ?? '') },
    ],
    Object.entries({ ...rows, held: held?.rows ?? 0 }),
  )
  const about = facts([
    ['Received', instant(receipt.receivedAt)],
    ['Published', instant(receipt.publishedAt)],
    ['Meters', count(receipt.meters)],
    ['First interval', instant(receipt.firstIntervalStart)],
    ['Last interval ends', instant(receipt.lastIntervalEnd)],
    ['Rows rounded', count(receipt.roundedRows)],
    ['sha256', receipt.fileId],
    ['Notes', notes.join('; ')],
  ])
  return html`<section><h2>Receipt</h2>${counted}${about}</section>`
}

const clocks = {
  wall: 'Times are local wall-clock times. In the repeated hour, a meter’s first row is daylight time, its second row standard time; a single row needs a row beside the hour or stored reads. Times in the skipped hour are rejected (NONEXISTENT_TIME).',
  standard: 'Times are standard time all year; no hour is skipped or repeated.',
} as const

function times({ receipt, clock, clockChanges, rejectKinds }: FileDetail): Content {
  if (receipt?.dateOrder === undefined || receipt.dateOrder === null) return ''
  const skipped = rejectKinds.filter(({ code }) => code === 'NONEXISTENT_TIME')
  const days = clockChanges.map(({ day, hours }) => `${day} has ${hours} hours`)
  const about = facts([
    ['Timestamp format', receipt.timestampFormat],
    ['Order of day and month', receipt.dateOrder],
    ['Proof', receipt.dateOrderProof],
    ['Clock', clocks[clock]],
    ['Clock changes in the file', days.length === 0 ? 'none' : days.join(', ')],
    ['Rows in the repeated hour', countText(receipt.repeatedHourRows ?? 0)],
    ['Rows in the repeated hour without proof', countText(receipt.ambiguousHourRows ?? 0)],
    ['Rows in a skipped hour', countText(skipped.reduce((sum, { rows }) => sum + rows, 0))],
  ])
  return html`<section><h2>Dates and clock</h2>${about}</section>`
}

const meanings = {
  retry:
    'Process the file again, unchanged. Use it after fixing the profile or registering customers.',
  accept: 'Publish the accepted rows of the file; rejected rows stay rejected.',
} as const

function acts({ acts, reprocessed, entries, status }: FileDetail): Content {
  if (status !== 'quarantined' && entries.length === 0) return ''
  const button = (act: Act) => html`<p>
    <button type="button" ?disabled=${acts[act] !== ''} aria-describedby="${act}-why"
      @click=${() => confirmAct(act)}>${act}</button>
    <span id="${act}-why">${printableText(acts[act] || meanings[act])}</span>
  </p>`
  const again = reprocessed?.arrival
  const link = html`<p>Reprocessed as <a href="file?arrival=${again}">arrival ${again}</a>.</p>`
  const log = entries.map(({ number, at, who, via, act }) => {
    const when = instantText(String(at))
    return html`<li>${act} by ${who} (${via}), ${when}, audit log entry ${number}</li>`
  })
  return html`<section><h2>Actions</h2>
    ${reprocessed === undefined ? [button('retry'), button('accept')] : nothing}
    ${again === undefined ? nothing : link}
    <ul>${log}</ul>
  </section>`
}

const dialog = document.createElement('dialog')

function confirmAct(act: Act): void {
  const confirmed = () => {
    dialog.close()
    void perform(act)
  }
  const content = html`<p>${meanings[act]}</p>
    <p>The file is processed again as a new arrival. The action is recorded in the audit log.</p>
    <p><button type="button" class="strong" @click=${confirmed}>${act} this file</button>
      <button type="button" @click=${() => dialog.close()}>cancel</button></p>`
  dialog.setAttribute('aria-label', `${act} this file?`)
  document.body.append(dialog)
  render(content, dialog)
  dialog.showModal()
}

async function perform(act: Act): Promise<void> {
  try {
    await show(await ask<FileDetail>(`files/${arrival}/${act}`, 'POST'))
  } catch (error) {
    showStatus((error as Error).message, 'bad')
  }
}

function example([line, detail, raw]: RejectKind['examples'][number]): Content {
  return html`<span class="words">line ${countText(line)}: ${printableText(detail)}</span><code>${printableText(raw)}</code>`
}

function rejected({ rejectKinds }: FileDetail): Content {
  const heading = html`<h2 id="rejects">Rejected rows</h2>`
  if (page === undefined) return html`${heading}<p class="nothing">None.</p>`
  const { after, rejects, isLast } = page
  const kinds = table(
    'Rejected rows by code',
    [
      { title: 'code', cell: ({ code }) => code },
      { title: 'column', cell: ({ column }) => column || 'whole row' },
      { title: 'rows', right: true, cell: ({ rows }) => countText(rows) },
      { title: 'first rows', cell: ({ examples }) => html`${examples.map(example)}` },
    ],
    rejectKinds,
  )
  const rows = table(
    after === 0 ? 'First rejected rows' : 'More rejected rows',
    [
      { title: 'line', right: true, cell: ({ line }) => countText(line) },
      { title: 'column', cell: ({ column }) => column },
      { title: 'code', cell: ({ code }) => code },
      {
        title: 'reason',
        cell: ({ detail }) => html`<span class="words">${printableText(detail)}</span>`,
      },
      { title: 'row', cell: ({ raw }) => html`<code>${printableText(raw)}</code>` },
    ],
    rejects,
  )
  const button = (text: string, from: number, isOpen: boolean) =>
    html`<button type="button" ?disabled=${!isOpen} @click=${() => turn(from)}>${text}</button>`
  const next = button('Next page', rejects.at(-1)?.place ?? after, !isLast)
  return html`${heading}${kinds}${rows}<p>${button('First page', 0, after > 0)} ${next}</p>`
}

async function readPage(after: number): Promise<RejectPage> {
  return { ...(await ask<RejectPage>(`files/${arrival}/rejects?after=${after}`)), after }
}

async function turn(after: number): Promise<void> {
  try {
    page = await readPage(after)
    if (shown !== undefined) draw(shown)
  } catch (error) {
    showStatus((error as Error).message, 'bad')
  }
}

/** The first page of rejected rows is read again when their number has changed. */
async function show(detail: FileDetail): Promise<void> {
  const rowsRejected = detail.receipt?.rows.rejected
  if (detail.rejectKinds.length === 0) page = undefined
  else if (page === undefined || rowsRejected !== shown?.receipt?.rows.rejected) {
    page = await readPage(0)
  }
  shown = detail
  draw(detail)
}

function draw(detail: FileDetail): void {
  const { name, status, fault, todo, receipt, source, arrivedAt } = detail
  const reason = receipt?.reason
  document.title = `${printableText(name)} · Tieline operations`
  const content = html`<h1 class="file">${printableText(name)}</h1>
    <p>${badge(status)} arrival ${detail.arrival} from ${source}, ${instantText(arrivedAt)}</p>
    ${reason ? html`<p class=${fault === '' ? nothing : 'fault'}>${printableText(reason)}</p>` : nothing}
    ${todo === '' ? nothing : html`<p class="todo">${todo}</p>`}
    ${copies(detail)}
    ${acts(detail)}${outcomes(detail)}${times(detail)}
    <section aria-labelledby="rejects">${rejected(detail)}</section>`
  render(content, find('#main'))
}

async function refresh(): Promise<void> {
  try {
    await show(await ask<FileDetail>(`files/${arrival}`))
    showStatus('live', 'good')
  } catch (error) {
    const { message } = error as Error
    showStatus(message, 'bad')
    if (shown === undefined) render(html`<p class="fault">${message}</p>`, find('#main'))
  }
  setTimeout(() => void refresh(), refreshMs)
}

void showSession()
void refresh()
