import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type Credentials, type Role, roleOf } from './auth.js'
import { type Body, receive, textOf } from './body.js'
import { type Call, readCall } from './call.js'
import type { Engine } from './engine.js'
import { toException } from './exception.js'
import { prepare } from './preamble.js'
import { createReply, type Reply } from './reply.js'
import { type Desk, run } from './run.js'
import { literal } from './statement.js'

export interface Front extends Desk {
  readonly engine: Engine
  readonly known: Readonly<Record<Role, Credentials>>
}

/** Large parameters travel in the URL. */
const headerBytesMax = 1024 * 1024

/** ClickHouse's HTTP interface over an engine; the caller listens and closes. */
export function createFront(front: Front): Server {
  const server = createServer({ maxHeaderSize: headerBytesMax, requestTimeout: 0 }, (req, res) => {
    void handle(front, req, res)
  })
  server.keepAliveTimeout = 30_000
  server.headersTimeout = 60_000
  return server
}

async function handle(
  front: Front,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost')
  const isPing = url.pathname === '/ping' || url.pathname === '/replicas_status'
  if (isPing || (request.method === 'GET' && url.pathname === '/' && url.search === '')) {
    response.setHeader('Content-Type', 'text/html; charset=UTF-8')
    return void response.end('Ok.\n')
  }
  if (url.pathname !== '/') {
    return void response.writeHead(404).end(`There is no handle ${url.pathname}\n`)
  }
  let reply: Reply = createReply(response, { isCompressing: false })
  let body: Body | undefined
  try {
    const role = roleOf(request, url.searchParams, front.known)
    const asked = readCall(request, url.searchParams)
    reply = createReply(response, asked)
    reply.set('X-ClickHouse-Query-Id', asked.queryId)
    reply.set('X-ClickHouse-Server-Display-Name', 'tieline')
    body = await receive(request, front.spoolPath)
    const { call, rest } = await withBody(asked, body)
    await answer(front, { call, reply, role, body: rest, response })
  } catch (error) {
    await reply.fail(toException(error))
  } finally {
    body?.remove()
  }
}

interface Order {
  readonly call: Call
  readonly role: Role
  readonly reply: Reply
  readonly body: Body
  readonly response: ServerResponse
}

/** Where the URL holds no query, the body is the query. */
async function withBody(call: Call, body: Body): Promise<{ call: Call; rest: Body }> {
  const isInsert = /^\s*insert\b/i.test(call.query)
  if (isInsert || (body.path === undefined && body.head.length === 0)) return { call, rest: body }
  const text = (await textOf(body)).toString('utf8')
  const query = call.query === '' ? text : `${call.query}\n${text}`
  const rest: Body = { ...body, head: Buffer.alloc(0), path: undefined, compression: 'none' }
  return { call: { ...call, query }, rest }
}

async function answer(front: Front, order: Order): Promise<void> {
  const { call, reply, role, body, response } = order
  const connection = front.engine.connect()
  const onClose = (): void => {
    if (!response.writableFinished) void kill(front.engine, call.queryId)
  }
  response.once('close', onClose)
  try {
    await prepare(connection, call, role)
    await run(front, { call, connection, reply }, body)
  } finally {
    response.off('close', onClose)
    connection.close()
  }
}

/** Ends the statement of a call that nobody waits for any more. */
async function kill(engine: Engine, queryId: string): Promise<void> {
  const connection = engine.connect()
  try {
    const mark = `Settings['log_comment'] = ${literal(queryId)}`
    await connection.query(`KILL QUERY WHERE ${mark} ASYNC`, 'Null')
  } finally {
    connection.close()
  }
}
