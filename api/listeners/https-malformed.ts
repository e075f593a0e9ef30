import { STATUS_CODES } from 'node:http'
import type { Server } from 'node:https'
import type { Duplex } from 'node:stream'
import type { ListenerOptions } from './listener.js'

/** What Node's parser says, and what it means in HTTP; anything else of the parser's is a 400. */
const statuses: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
}

/**
 * Answers what never became a request: a header that is malformed, too long or too late. Where the
 * body of a request breaks off, its own line in the log tells, and the connection ends.
 */
export function answerMalformed(
  server: Server,
  { refuse, requestId }: Pick<ListenerOptions<unknown>, 'refuse' | 'requestId'>,
): void {
  const underWay = new WeakSet<Duplex>()
  server.on('request', ({ socket }, response) => {
    underWay.add(socket)
    response.once('close', () => underWay.delete(socket))
  })
  server.on('clientError', ({ code = '' }: NodeJS.ErrnoException, socket) => {
    const status = statuses[code] ?? (code.startsWith('HPE_') ? 400 : undefined)
    if (status === undefined || !socket.writable || underWay.has(socket)) {
      socket.destroy()
      return
    }
    const { id } = refuse(status, { id: requestId(undefined), startedAt: performance.now() })
    socket.end(
      `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\nX-Request-Id: ${id}\r\n` +
        'Connection: close\r\nContent-Length: 0\r\n\r\n',
    )
  })
}
