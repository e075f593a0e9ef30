import uWS from 'uWebSockets.js'
import { createPublicKey } from 'node:crypto'
import { createVerifier } from 'fast-jwt'
import { fastify } from 'fastify'
import { jwtVerify } from 'jose'

/** What a server is started with, as JSON on its command line. */
export interface BenchServer {
  readonly kind: keyof typeof servers
  readonly port: number
  readonly issuer: string
  readonly pem: string
}

const constant = '{"clientId":"7000000001"}'
const scheme = 'Bearer '.length
const cacheMax = 100_000

const servers = { bare, limit, fastifyCold, fastifyWarm }

/** The least that a server of this kind can do. */
async function bare({ port }: BenchServer): Promise<void> {
  uWS
    .App()
    .any('/*', (response) => {
      response.writeHeader('Content-Type', 'application/json').end(constant)
    })
    .listen('127.0.0.1', port, ready)
}

/** The same with a signature checked by jose, and nothing else. */
async function limit({ port, issuer, pem }: BenchServer): Promise<void> {
  const key = createPublicKey(pem)
  const options = { issuer, audience: 'tieline', algorithms: ['RS256'] }
  uWS
    .App()
    .any('/*', (response, request) => {
      let isAborted = false
      response.onAborted(() => {
        isAborted = true
      })
      jwtVerify(request.getHeader('authorization').slice(scheme), key, options).then(
        ({ payload }) => {
          if (isAborted) return
          response.cork(() => {
            const body = JSON.stringify({ clientId: payload.sub })
            response.writeHeader('Content-Type', 'application/json').end(body)
          })
        },
        () => response.close(),
      )
    })
    .listen('127.0.0.1', port, ready)
}

/** What one writes first: Fastify and jose. */
async function fastifyCold({ port, issuer, pem }: BenchServer): Promise<void> {
  const key = createPublicKey(pem)
  const server = fastify()
  server.post('/v1/gateway/login', async (request) => {
    const token = (request.headers.authorization ?? '').slice(scheme)
    const { payload } = await jwtVerify(token, key, { issuer, audience: 'tieline' })
    return { clientId: payload.sub }
  })
  await server.listen({ host: '127.0.0.1', port })
  ready()
}

/** Fastify with fast-jwt, which remembers the tokens that it has verified. */
async function fastifyWarm({ port, issuer, pem }: BenchServer): Promise<void> {
  const verify = createVerifier({
    key: pem,
    cache: cacheMax,
    allowedIss: issuer,
    allowedAud: 'tieline',
  })
  const server = fastify()
  server.post('/v1/gateway/login', async (request) => {
    const token = (request.headers.authorization ?? '').slice(scheme)
    const { sub } = verify(token) as { readonly sub: string }
    return { clientId: sub }
  })
  await server.listen({ host: '127.0.0.1', port })
  ready()
}

function ready(): void {
  process.send?.('ready')
}

process.on('disconnect', () => process.exit(0))
const asked = JSON.parse(process.argv[2] ?? '{}') as BenchServer
await servers[asked.kind](asked)
