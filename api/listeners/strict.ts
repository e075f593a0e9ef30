import type { IncomingMessage, RequestListener, Server } from 'node:http'
import type { Server as TlsServer } from 'node:https'
import type { Socket } from 'node:net'
import { createFieldReader, type Fields } from './fields.js'
import { type Framing, framingOf } from './framing.js'

/**
 * Serves requests of one of Node's servers, and refuses those which two servers might read differently.
 * Then it serves nothing else on their connection: what follows may be part of a body. Node would go on
 * with the next request. Set `requireHostHeader: false`, or Node answers a missing host and goes on.
 */
export function serveStrictly(server: Server | TlsServer, serve: RequestListener): void {
  const refused = new WeakSet<Socket>()
  serveAll(server, (request, response) => {
    if (refused.has(request.socket)) return
    const framing = framingOfRequest(request, readFields(request), Number.MAX_SAFE_INTEGER)
    if (framing.kind !== 'refused') return serve(request, response)
    refused.add(request.socket)
    response.writeHead(framing.status, { Connection: 'close', 'Content-Length': 0 }).end()
  })
}

/**
 * Also requests with an unknown expectation, which Node answers itself before it goes on. Each shows all of its
 * fields: by default Node hides those behind the first thousand, and still obeys them.
 */
export function serveAll(server: Server | TlsServer, serve: RequestListener): void {
  server.maxHeadersCount = 0
  server.on('request', serve)
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
}

export function readFields({ rawHeaders }: IncomingMessage): Readonly<Fields> {
  const { fields, see } = createFieldReader()
  for (let at = 0; at + 1 < rawHeaders.length; at += 2)
    see((rawHeaders[at] ?? '').toLowerCase(), rawHeaders[at + 1] ?? '')
  return fields
}

/** As `framingOf`; HTTP/1.0 needs no host, but has no encoding (RFC 9112, section 6.1). */
export function framingOfRequest(
  { httpVersion }: IncomingMessage,
  fields: Readonly<Fields>,
  bodyBytesMax: number,
): Framing {
  if (httpVersion === '1.1') return framingOf(fields, bodyBytesMax)
  if (httpVersion !== '1.0') return { kind: 'refused', status: 505 }
  if (fields.transferEncoding !== undefined) return { kind: 'refused', status: 400 }
  return framingOf({ ...fields, hosts: Math.max(fields.hosts, 1) }, bodyBytesMax)
}
