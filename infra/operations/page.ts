import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Actor } from '../../pipeline/ledger/audit.js'
import { orderReprocess, type ReprocessAct } from '../../pipeline/steps/reprocess.js'
import { Fault, type FaultCode, faultCodes } from '../../schemas/fault.js'
import { type Admit, isOwn } from './access.js'
import { readAssets } from './assets.js'
import { type FileContext, readFileDetail, readRejects } from './file.js'
import { type Live, type PanelUpdate, wordsOf } from './live.js'

export interface PageOptions {
  readonly admit: Admit
  readonly live: Live
  readonly context: FileContext
  /** The board of queues, which answers what lies under `/queues`. */
  readonly board: (request: IncomingMessage, response: ServerResponse) => void
  /** Hears of failures that nobody foresaw. */
  readonly onFailure: (error: unknown) => void
}

/** Answers every request that is none for health or metrics. */
export type Page = (request: IncomingMessage, response: ServerResponse) => void

const watchersMax = 100
/** Who has not read so much of what he was told does not watch any more. */
const unreadBytesMax = 1_048_576
/** Some proxies end what says nothing for a while. */
const stillMs = 15_000

/** No script or style but those of this package, nothing in a frame, nothing from elsewhere. */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

interface Call {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
  readonly who: string
}

type Answer = (call: Call, parts: readonly string[]) => Promise<void> | void

/** The operations page: its files, its figures as they change, a file's detail, and what may be done. */
export function createPage(options: PageOptions): Page {
  const { admit, live, context, board, onFailure } = options
  const assets = readAssets()
  let watchers = 0
  const routes: readonly (readonly [method: string, path: RegExp, answer: Answer])[] = [
    ['GET', /^\/live$/, watch],
    ['GET', /^\/files\/(\d{1,9})$/, detail],
    ['GET', /^\/files\/(\d{1,9})\/rejects$/, rejects],
    ['POST', /^\/files\/(\d{1,9})\/(retry|accept)$/, act],
    ['GET', /^\/queues(?:\/.*)?$/, ({ request, response }) => board(request, response)],
    ['GET', /^\/[\w.-]*$/, asset],
  ]

  function watch({ response }: Call): void {
    // Who left while he was judged tells of it no more.
    if (response.destroyed) return
    if (watchers >= watchersMax) {
      sendJson(response, 503, { detail: 'too many watch' })
      return
    }
    watchers++
    response.once('close', () => {
      watchers--
    })
    stream(live, response)
  }

  async function detail({ response }: Call, [arrival]: readonly string[]): Promise<void> {
    sendJson(response, 200, await readFileDetail(context, Number(arrival)))
  }

  async function rejects({ response, url }: Call, [arrival]: readonly string[]): Promise<void> {
    const after = Number(url.searchParams.get('after') ?? 0)
    const wanted = Number.isInteger(after) && after >= 0 && after < 2 ** 32 ? after : 0
    sendJson(response, 200, await readRejects(context, { arrival: Number(arrival), after: wanted }))
  }

  async function act({ request, response, who }: Call, parts: readonly string[]): Promise<void> {
    if (!isOwn(request)) throw new Fault('PERMISSION', 'only the page itself may ask for this')
    const [arrival, order] = parts
    const actor: Actor = { who, via: 'page' }
    await orderReprocess(context, actor, { arrival: Number(arrival), act: order as ReprocessAct })
    sendJson(response, 202, await readFileDetail(context, Number(arrival)))
  }

  function asset({ response, url }: Call): void {
    const found = assets.get(url.pathname)
    if (found === undefined) sendJson(response, 404, { detail: `${url.pathname} is not here` })
    else {
      response.writeHead(200, { 'Content-Type': found.type, 'Cache-Control': 'no-cache' })
      response.end(found.bytes)
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET' } = request
    for (const [name, value] of headers) response.setHeader(name, value)
    const admitted = await admit(request)
    if (!('who' in admitted)) return refuse(response, admitted)
    const url = toUrl(request)
    const route = routes.find(([verb, path]) => verb === method && path.test(url?.pathname ?? ''))
    if (url === undefined || route === undefined) {
      return sendJson(response, 404, { detail: 'there is nothing here' })
    }
    const [, path, run] = route
    const [, ...parts] = path.exec(url.pathname) ?? []
    await run({ request, response, url, who: admitted.who }, parts)
  }

  return (request, response) => {
    answer(request, response).catch((error: unknown) => {
      onFailure(error)
      if (response.headersSent) response.destroy()
      else sendFault(response, error)
    })
  }
}

/** Tells one who watches, until he leaves or has stopped reading. */
function stream(live: Live, response: ServerResponse): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const say = (text: string) => {
    if (response.writableLength > unreadBytesMax) response.destroy()
    else response.write(text)
  }
  say('retry: 2000\n\n')
  const leave = live.watch((told: PanelUpdate) => say(`data: ${JSON.stringify(told)}\n\n`))
  const still = setInterval(() => say(':\n\n'), stillMs)
  response.once('close', () => {
    clearInterval(still)
    leave()
  })
}

/** What is asked for; undefined where it is no path, such as `//`. */
function toUrl({ url = '/' }: IncomingMessage): URL | undefined {
  const page = 'http://page'
  return URL.canParse(url, page) ? new URL(url, page) : undefined
}

const headers = [
  ['Content-Security-Policy', policy],
  ['X-Content-Type-Options', 'nosniff'],
  ['Referrer-Policy', 'no-referrer'],
  ['Cross-Origin-Opener-Policy', 'same-origin'],
  ['Cross-Origin-Resource-Policy', 'same-origin'],
  ['Cache-Control', 'no-store'],
] as const

function refuse(
  response: ServerResponse,
  { status, text }: { readonly status: number; readonly text: string },
): void {
  if (status === 401) response.setHeader('WWW-Authenticate', 'Basic realm="Tieline"')
  response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8' })
  response.end(`${text}\n`)
}

const statuses: Partial<Record<FaultCode, number>> = { FILE_STATE: 409, PERMISSION: 403 }

/** What is wrong with the world is told with what to do; of a broken program the log tells. */
function sendFault(response: ServerResponse, error: unknown): void {
  if (error instanceof Fault) {
    const { code } = error
    const todo = faultCodes[code].meaning
    const detail = wordsOf(error)
    sendJson(response, statuses[code] ?? 503, { code, detail, ...(detail !== todo && { todo }) })
  } else {
    const detail = 'this failed unexpectedly; the log of the worker tells more'
    sendJson(response, 500, { code: 'UNEXPECTED', detail })
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}
