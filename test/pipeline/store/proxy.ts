import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'

/** What a proxy does with a request; `pass` asks the server for its answer. */
export type Handling = (
  from: IncomingMessage,
  to: ServerResponse,
  pass: () => Promise<IncomingMessage>,
) => void

/** A proxy before a ClickHouse server; its URL. */
export async function createProxy(t: Test, serverUrl: string, handle: Handling): Promise<string> {
  const server = createServer((from, to) => {
    const { method = 'POST', headers } = from
    const pass = () =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const call = request(serverUrl + from.url, { method, headers }, resolve)
        from.pipe(call.on('error', reject))
      })
    handle(from, to, pass)
  })
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** A server whose user has settings of its own, as by a profile; those of a statement come before them. */
export const withProfile =
  (settings: Readonly<Record<string, string>>): Handling =>
  async (from, to, pass) => {
    const { pathname, searchParams } = new URL(from.url ?? '', 'http://server')
    from.url = `${pathname}?${new URLSearchParams({ ...settings, ...Object.fromEntries(searchParams) })}`
    const answer = await pass()
    answer.pipe(to.writeHead(answer.statusCode ?? 500, answer.headers))
  }

export interface Pace {
  readonly silentMsMax: number
  /** By how much time runs faster than that of the settings. */
  readonly times: number
}

/**
 * A server that reports progress in headers, behind a proxy that cuts silent connections. The headers
 * are those of a ClickHouse server; the answer is that of the engine.
 */
export const reportsProgress =
  ({ silentMsMax, times }: Pace): Handling =>
  async ({ url = '', socket }, to, pass) => {
    const { searchParams } = new URL(url, 'http://server')
    const sends = searchParams.get('send_progress_in_http_headers') === '1'
    const ms = Number(searchParams.get('http_headers_progress_interval_ms') ?? 100) / times
    const counts = { read_rows: '0', read_bytes: '0', memory_usage: '0', elapsed_ns: '0' }
    const progress = `X-ClickHouse-Progress: ${JSON.stringify(counts).padEnd(180)}\r\n`
    let isStarted = false
    const report = () => {
      if (!isStarted) socket.write('HTTP/1.1 200 OK\r\n')
      isStarted = true
      socket.write(progress)
    }
    const timer = sends ? setInterval(report, ms) : undefined
    socket.setTimeout(silentMsMax, () => socket.destroy())
    const answer = await pass().finally(() => clearInterval(timer))
    if (!isStarted) return void answer.pipe(to.writeHead(answer.statusCode ?? 500, answer.headers))
    const body = await buffer(answer)
    const { 'transfer-encoding': _, ...own } = answer.headers
    const headers = { ...own, connection: 'close', 'content-length': body.length }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.write(`${lines.join('')}\r\n`)
    socket.end(body)
  }
