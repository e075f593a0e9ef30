import { open } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Actor } from '../../pipeline/ledger/audit.js'
import { ifThere } from '../../pipeline/sources/disk.js'
import { orderReprocess, type ReprocessAct } from '../../pipeline/steps/reprocess.js'
import { Fault, type FaultCode, faultCodes } from '../../schemas/fault.js'
import { type Admit, foreignText, isOwn } from './access.js'
import { readAssets } from './assets.js'
import { dismissProblems } from './dismiss.js'
import {
  type Download,
  downloadPath,
  type FileContext,
  readFileDetail,
  readRejects,
} from './file.js'
import { type Judge, messageOf } from './judge.js'
import type { Live } from './live.js'
import type { SignIn } from './sign-in.js'

export interface PageOptions {
  readonly admit: Admit
  /** The form of the profile's users; without users nobody signs in. */
  readonly signIn?: SignIn | undefined
  readonly live: Live
  readonly context: FileContext
  /** The board of queues, which answers below `/queues`. */
  readonly board: (request: IncomingMessage, response: ServerResponse) => void
  readonly judge: Judge
  /** Called with every failed request. */
  readonly onFailure: (error: unknown) => void
}

/** Answers every request except health and metrics. */
export type Page = (request: IncomingMessage, response: ServerResponse) => void

const watchersMax = 100
/** A watcher with more unread data than this is disconnected. */
const unreadBytesMax = 1_048_576
/** Some proxies close connections that are silent for longer. */
const keepAliveMs = 15_000

/** Scripts and styles of this package only, no frames, no other hosts. */
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
  /** Of a session: whether it has not ended. */
  readonly holds?: (() => boolean) | undefined
}

type Answer = (call: Call, parts: readonly string[]) => Promise<void> | void

/** The operations page: static files, live figures, file details and actions. */
export function createPage(options: PageOptions): Page {
  const { admit, signIn, live, context, board, judge, onFailure } = options
  const assets = readAssets()
  let watchers = 0
  const routes: readonly (readonly [method: string, path: RegExp, answer: Answer])[] = [
    ['GET', /^\/live$/, watch],
    ['GET', /^\/files\/(\d{1,9})$/, detail],
    ['GET', /^\/files\/(\d{1,9})\/rejects$/, rejects],
    ['GET', /^\/files\/(\d{1,9})\/download\/(receipt|rejects)$/, download],
    ['POST', /^\/files\/(\d{1,9})\/(retry|accept)$/, byPage(act)],
    ['POST', /^\/problems\/dismiss$/, byPage(dismiss)],
    ['GET', /^\/queues(?:\/.*)?$/, ({ request, response }) => board(request, response)],
    ['GET', /^\/session$/, session],
    ['GET', /^\/[\w.-]*$/, asset],
  ]

  /** What changes something is refused to other pages. */
  function byPage(run: Answer): Answer {
    return (call, parts) => {
      if (isOwn(call.request)) return run(call, parts)
      onFailure(new Fault('PERMISSION', foreignText))
      sendJson(call.response, 403, { code: 'PERMISSION', detail: foreignText })
    }
  }

  function watch({ response, holds }: Call): void {
    // A client that left during authentication no longer emits `close`.
    if (response.destroyed) return
    if (watchers >= watchersMax) {
      sendJson(response, 503, { detail: `the page is open ${watchersMax} times; close some` })
      return
    }
    watchers++
    response.once('close', () => {
      watchers--
    })
    stream(live, response, holds)
  }

  async function detail({ response }: Call, [arrival]: readonly string[]): Promise<void> {
    sendJson(response, 200, await readFileDetail(context, Number(arrival)))
  }

  async function rejects({ response, url }: Call, [arrival]: readonly string[]): Promise<void> {
    const after = Number(url.searchParams.get('after') ?? 0)
    const wanted = Number.isInteger(after) && after >= 0 && after < 2 ** 32 ? after : 0
    sendJson(response, 200, await readRejects(context, { arrival: Number(arrival), after: wanted }))
  }

  async function download({ response }: Call, parts: readonly string[]): Promise<void> {
    const [number, which] = parts
    const arrival = await context.ledger.arrival(Number(number))
    const path = arrival && downloadPath(context, arrival, which as Download)
    const file = path && (await ifThere(open(path)))
    if (!file) return sendJson(response, 404, { detail: `arrival ${number} has no ${which}` })
    const type = which === 'receipt' ? 'application/json' : 'text/csv; charset=utf-8'
    const name = encodeURIComponent(basename(path))
    response.writeHead(200, {
      'Content-Type': type,
      'Content-Disposition': `attachment; filename*=UTF-8''${name}`,
    })
    await pipeline(file.createReadStream(), response)
  }

  async function act({ response, who }: Call, parts: readonly string[]): Promise<void> {
    const [arrival, order] = parts
    const actor: Actor = { who, via: 'page' }
    await orderReprocess(context, actor, { arrival: Number(arrival), act: order as ReprocessAct })
    sendJson(response, 202, await readFileDetail(context, Number(arrival)))
  }

  async function dismiss({ response, url, who }: Call): Promise<void> {
    const [name, because] = ['key', 'because'].map((one) => url.searchParams.get(one) ?? '')
    const problem = { name: name ?? '', because: because ?? '' }
    const dismissed = await dismissProblems(context, { who, via: 'page' }, problem)
    sendJson(response, 200, { dismissed })
  }

  function session({ response, who, holds }: Call): void {
    sendJson(response, 200, { who, signedIn: holds !== undefined })
  }

  function asset({ response, url }: Pick<Call, 'response' | 'url'>): void {
    const found = assets.get(url.pathname)
    if (found === undefined) sendJson(response, 404, { detail: `${url.pathname} not found` })
    else {
      response.writeHead(200, { 'Content-Type': found.type, 'Cache-Control': 'no-cache' })
      response.end(found.bytes)
    }
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET' } = request
    for (const [name, value] of headers) response.setHeader(name, value)
    const url = toUrl(request)
    const exchange = { request, response, url: url ?? new URL('http://page') }
    if (url !== undefined && (await signIn?.answer(exchange))) return
    const admitted = await admit(request)
    if (!('who' in admitted)) {
      if (signIn === undefined || admitted.status !== 401) return refuse(response, admitted)
      if (method === 'GET' && ofForm.has(exchange.url.pathname)) return asset(exchange)
      return signIn.refuse(exchange, admitted.text)
    }
    const route = routes.find(([verb, path]) => verb === method && path.test(url?.pathname ?? ''))
    if (url === undefined || route === undefined) {
      return sendJson(response, 404, { detail: 'not found' })
    }
    const [, path, run] = route
    const [, ...parts] = path.exec(url.pathname) ?? []
    const { who, holds } = admitted
    await run({ request, response, url, who, holds }, parts)
  }

  return (request, response) => {
    answer(request, response).catch(async (failure: unknown) => {
      const error = await judge(failure)
      onFailure(error)
      if (response.headersSent) response.destroy()
      else sendFault(response, error)
    })
  }
}

/** What the form shows before anyone has signed in. */
const ofForm: ReadonlySet<string> = new Set(['/page.css', '/icon.svg'])

/** Streams updates to a watcher until it disconnects, stops reading, or its session has ended. */
function stream(live: Live, response: ServerResponse, holds = () => true): void {
  response.writeHead(200, { 'Content-Type': 'text/event-stream' })
  const send = (text: string) => {
    if (response.writableLength > unreadBytesMax) response.destroy()
    else response.write(text)
  }
  send('retry: 2000\n\n')
  const leave = live.watch((update) => send(`data: ${JSON.stringify(update)}\n\n`))
  const keepAlive = setInterval(() => {
    if (holds()) send(':\n\n')
    else response.end()
  }, keepAliveMs)
  response.once('close', () => {
    clearInterval(keepAlive)
    leave()
  })
}

/** The requested URL; undefined for an invalid path such as `//`. */
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

const statuses: Partial<Record<FaultCode, number>> = {
  FILE_STATE: 409,
  PERMISSION: 403,
  CONFIG: 400,
}

/** A fault is shown with its remedy; the details of a program error are only logged. */
function sendFault(response: ServerResponse, error: unknown): void {
  if (error instanceof Fault) {
    const { code } = error
    const todo = faultCodes[code].meaning
    const detail = messageOf(error)
    sendJson(response, statuses[code] ?? 503, { code, detail, ...(detail !== todo && { todo }) })
  } else {
    sendJson(response, 500, { code: 'UNEXPECTED', detail: messageOf(error) })
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(JSON.stringify(body))
}
