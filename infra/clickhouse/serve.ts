import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { serveStrictly } from '../../api/listeners/strict.js'
import { type AnswerContext, answer, answerKill } from './http/answer.js'
import { type KnownUsers, type StoreUser, userOf } from './http/auth.js'
import { type Body, receiveBody } from './http/body.js'
import { type Call, headerOf, readCall } from './http/call.js'
import { toException } from './http/exception.js'
import { createReply, type Reply } from './http/reply.js'
import { readQuerySource } from './http/source.js'
import type { LoggedStatement, QueryLog } from './query-log.js'
import type { ReaderLimits } from './reader-limits.js'
import { onFreshLease } from './sessions.js'
import { type OwnKill, readOwnKill } from './sql/kill.js'
import { refuseLong } from './sql/reader.js'
import { judgeForReader } from './sql/reader-settings.js'

export interface FrontContext extends AnswerContext {
  readonly known: KnownUsers
  readonly limits: ReaderLimits
  readonly queryLog: QueryLog
  readonly timezone: string
  /** Responses that are not yet complete. */
  readonly open: Set<ServerResponse>
}

/** The URL may contain large parameters. */
const headerBytesMax = 1024 * 1024
const keepAliveMs = 30_000

/** ClickHouse's HTTP interface for an engine; the caller listens and closes. */
export function createFront(front: FrontContext): Server {
  const options = { maxHeaderSize: headerBytesMax, requestTimeout: 0, requireHostHeader: false }
  const server = createServer(options)
  serveStrictly(server, (req, res) => {
    front.open.add(res)
    res.once('close', () => front.open.delete(res))
    res.on('error', () => undefined)
    route(front, req, res).catch(() => res.destroy())
  })
  server.keepAliveTimeout = keepAliveMs
  if (front.asServer !== undefined) server.timeout = front.asServer.silentMsMax
  return server
}

async function route(front: FrontContext, request: IncomingMessage, response: ServerResponse) {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const isBare = url.pathname === '/' && /^(GET|HEAD)$/.test(request.method ?? '') && !url.search
  if (isBare || url.pathname === '/ping' || url.pathname === '/replicas_status') {
    response.setHeader('Content-Type', 'text/html; charset=UTF-8')
    return void response.end('Ok.\n')
  }
  if (url.pathname === '/health') return health(front, request, response)
  if (url.pathname === '/') return handle(front, { request, response, fields: url.searchParams })
  response.writeHead(404).end(`There is no handle ${url.pathname}\n`)
}

/** For the watchdog: runs a statement that bypasses the lanes. */
async function health(front: FrontContext, request: IncomingMessage, response: ServerResponse) {
  try {
    userOf(request, new URLSearchParams(), front.known)
    await onFreshLease(front.engine, (connection) => connection.query('SELECT 1', 'Null'))
    response.end('Ok.\n')
  } catch (error) {
    await createReply(response, { isCompressing: false }).fail(toException(error))
  }
}

interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly fields: URLSearchParams
}

async function handle(front: FrontContext, { request, response, fields }: Exchange): Promise<void> {
  let reply: Reply = createReply(response, { isCompressing: false })
  let body: Body | undefined
  let logged: LoggedStatement | undefined
  try {
    const client = userOf(request, fields, front.known)
    const limits = client.role === 'reader' ? front.limits : undefined
    body = await receiveBody(request, front.spoolPath, limits?.bodyBytes)
    const contentType = headerOf(request, 'content-type')
    const source = await readQuerySource(fields, body, { contentType, limits })
    let call = readCall(request, source.fields)
    reply = createReply(response, { ...call, sendMs: limits?.sendMs })
    reply.set('X-ClickHouse-Query-Id', call.queryId)
    reply.set('X-ClickHouse-Server-Display-Name', 'tieline')
    reply.set('X-ClickHouse-Timezone', front.timezone)
    if (limits !== undefined) refuseLong(call.query, limits)
    if (client.role === 'reader') logged = await front.queryLog.begin(client, call)
    let kill: OwnKill | undefined
    if (client.role === 'reader') ({ call, kill } = await judge(front, client, call))
    const resultBytesMax = limits?.resultBytes ?? Number.POSITIVE_INFINITY
    const onSummary = logged?.summarise
    const pending = { call, reply, client, body: source.data, response, resultBytesMax, onSummary }
    await (kill === undefined ? answer(front, pending) : answerKill(front, pending, kill))
    logged?.end()
  } catch (error) {
    const exception = toException(error)
    logged?.end(exception)
    await reply.fail(exception)
  } finally {
    body?.remove()
  }
}

/** In its turn: a reader's call as it runs, or that it kills a statement of its own. */
async function judge({ lanes, limits }: FrontContext, client: StoreUser, call: Call) {
  const leave = await lanes.acquireForJudging(client)
  try {
    const kill = readOwnKill(call.query)
    if (kill !== undefined) return { call, kill }
    return { call: judgeForReader(call, { limits, seesStatements: client.seesAudit }) }
  } finally {
    leave()
  }
}
