import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Revoker {
  /** Settings of a provider by introspection. */
  readonly settings: object
  /** A token of a customer that the provider reports as inactive. */
  token(clientId: string): string
  /** How many tokens it was asked about. */
  asked(): number
  close(): Promise<void>
}

/** An identity provider with opaque tokens, all of them revoked. */
export async function createRevoker(): Promise<Revoker> {
  let asked = 0
  const server = createServer(async (request, response) => {
    asked++
    let body = ''
    for await (const piece of request) body += piece
    const token = new URLSearchParams(body).get('token') ?? ''
    const text = Buffer.from(token, 'base64url').toString()
    const [, sub] = /^(.*)\n/.exec(text) ?? []
    response.end(JSON.stringify({ active: false, sub }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.env['INTROSPECTION_SECRET'] ??= 'secret'
  const { port } = server.address() as AddressInfo
  return {
    settings: {
      kind: 'introspection',
      claim: 'sub',
      url: `http://127.0.0.1:${port}/introspect`,
      clientId: 'tieline',
      clientSecret: { env: 'INTROSPECTION_SECRET' },
      timeoutMs: 60_000,
    },
    token: (clientId) => Buffer.from(`${clientId}\n${randomUUID()}`).toString('base64url'),
    asked: () => asked,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
