import { once } from 'node:events'
import { request as ask, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { Test } from 'tap'
import type { Admit } from '../../../infra/operations/access.js'
import type { FileContext } from '../../../infra/operations/file.js'
import type { Live } from '../../../infra/operations/live.js'
import { createPage, type PageOptions } from '../../../infra/operations/page.js'
import type { SignIn } from '../../../infra/operations/sign-in.js'

export interface StandOptions {
  readonly admit?: Admit
  readonly signIn?: SignIn | undefined
  readonly watch?: Live['watch']
  readonly context?: FileContext
  readonly board?: PageOptions['board']
}

/** A page without files and queues until the test ends; `failures` has the failed requests. */
export async function createStand(t: Test, options: StandOptions = {}) {
  const failures: unknown[] = []
  const page = createPage({
    admit: options.admit ?? (async () => ({ who: 'ann' })),
    signIn: options.signIn,
    live: { watch: options.watch ?? (() => () => undefined), close: () => undefined },
    context: options.context ?? ({} as FileContext),
    board: options.board ?? ((_, response) => void response.end('board')),
    judge: async (error) => error,
    onFailure: (error) => failures.push(error),
  })
  const server = createServer(page)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { server, port, address: `http://127.0.0.1:${port}`, failures }
}

/** A proxy that serves the page below a prefix, which it removes. */
export async function createProxy(t: Test, port: number, prefix: string) {
  const server = createServer((request, response) => {
    const { method = '', headers, url = '' } = request
    if (!url.startsWith(`${prefix}/`)) return void response.writeHead(404).end()
    const path = url.slice(prefix.length)
    const onward = ask({ host: '127.0.0.1', port, path, method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      pipeline(answer, response).catch(() => undefined)
    })
    onward.on('error', () => response.destroy())
    response.once('close', () => onward.destroy())
    request.pipe(onward)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}${prefix}`
}
