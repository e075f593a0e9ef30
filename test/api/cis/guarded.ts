import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import type { Certificates } from '../../../infra/demo/certificates.js'

export interface GuardedCis {
  readonly url: string
  /** Status of each answer so far. */
  readonly answered: readonly number[]
  close(): Promise<void>
}

interface Guard {
  readonly certificates: Certificates
  /** Whose tokens it accepts. */
  readonly issuer: string
  /** The address of the CIS behind it. */
  target(): string
}

/** What a utility puts before its CIS: a client certificate is required, and a token of its provider. */
export async function createGuardedCis({
  certificates,
  issuer,
  target,
}: Guard): Promise<GuardedCis> {
  const { caFile, certFile, keyFile } = certificates
  const files = { cert: readFileSync(certFile), key: readFileSync(keyFile) }
  const tls = { ...files, ca: readFileSync(caFile), requestCert: true, rejectUnauthorized: true }
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks`), {
    cooldownDuration: 0,
    cacheMaxAge: 0,
  })
  const isGood = (token: string) =>
    jwtVerify(token, keys, { issuer, audience: 'tieline' }).then(
      ({ payload }) => payload['scope'] === 'customer',
      () => false,
    )
  const answered: number[] = []
  const server = createServer(tls, async ({ headers, url }, response) => {
    const [, token = ''] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
    const answer = (await isGood(token)) ? await fetch(`${target()}${url}`) : undefined
    const status = answer?.status ?? 401
    answered.push(status)
    // Each call shows the certificate again.
    const more = { 'Content-Type': 'application/json', Connection: 'close' }
    response.writeHead(status, more).end((await answer?.text()) ?? '{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    answered,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
