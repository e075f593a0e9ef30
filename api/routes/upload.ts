import { Readable } from 'node:stream'
import type { Intake } from '../../schemas/settings/intake.js'
import { wrongRequest } from '../answer.js'
import type { GatewayRequest } from '../request.js'
import type { Route, RouteHandler } from '../route.js'
import { createPush } from './push.js'

export interface IntakeRouteOptions {
  readonly intake: Intake
  /** The name of the service account of a request, undefined without one. */
  readonly senderOf: (request: GatewayRequest) => Promise<string | undefined>
}

const notEncoded =
  'send without Content-Encoding; a packed file has a name that ends with .gz or .zip'

/** The routes that receive files and rows. */
export function createIntakeRoutes(options: IntakeRouteOptions): readonly Route[] {
  const mutual = { access: 'mutual' } as const
  const guarded = (create: (sender: string) => RouteHandler): RouteHandler => {
    return async (request, at) => {
      const sender = await options.senderOf(request)
      if (sender === undefined) {
        return { kind: 'denied', denial: 'token', reason: 'basic authentication' }
      }
      const coding = request.field?.('content-encoding') ?? 'identity'
      if (coding !== 'identity') return wrongRequest(notEncoded)
      return create(sender)(request, at)
    }
  }
  const { intake } = options
  const put = { ...mutual, method: 'PUT', path: '/files/*', isStreamed: true } as const
  const get = { ...mutual, method: 'GET', path: '/files/*' } as const
  const post = { ...mutual, method: 'POST', path: '/usage', isStreamed: true } as const
  return [
    { ...put, name: 'upload', run: guarded((sender) => createUpload(intake, sender)) },
    { ...get, name: 'receipt', run: guarded((sender) => createReceipt(intake, sender)) },
    { ...post, name: 'push', run: guarded(createPush(intake)) },
  ]
}

/**
 * `PUT /files/<name>`: the complete file, or with `Content-Range: bytes <from>-<to>/<all>` the
 * remaining part. `Repr-Digest` (RFC 9530) identifies the file by its SHA-256. 202 means that it is
 * durable, with the location of its receipt; 409 has the offset to resume at in `Upload-Offset`.
 */
function createUpload(intake: Intake, sender: string): RouteHandler {
  return async (request, { rest, version }) => {
    const hash = toHash(request.field?.('repr-digest'))
    if (hash === undefined)
      return wrongRequest('send the SHA-256 as Repr-Digest: sha-256=:<base64>:')
    const range = toRange(request)
    if (range === undefined) {
      return wrongRequest(
        'send Content-Length, and Content-Range: bytes <from>-<to>/<all> to resume',
      )
    }
    const taken = await intake.take(
      { sender, name: toName(rest), hash, ...range },
      request.stream ?? Readable.from([]),
    )
    if (taken.kind === 'wrong') return wrongRequest(taken.detail)
    if (taken.kind === 'part') {
      return { kind: 'bare', status: 409, headers: [['Upload-Offset', String(taken.bytes)]] }
    }
    const receipt = `/${version}/files/${taken.arrival}`
    const body = JSON.stringify({ arrival: taken.arrival, fileId: hash, receipt })
    return { kind: 'accepted', body, location: receipt }
  }
}

/** `GET /files/<arrival or name>`: the receipt, or the progress of the file. */
function createReceipt(intake: Intake, sender: string): RouteHandler {
  return async (_, { rest }) => {
    const body = await intake.receipt({ sender, of: toName(rest) })
    return body === undefined ? { kind: 'bare', status: 404 } : { kind: 'good', body }
  }
}

/** Clients encode blanks and other characters of a name; one that is not encoded is taken as it is. */
function toName(rest: string): string {
  try {
    return decodeURIComponent(rest)
  } catch {
    return rest
  }
}

/** Of a dictionary with one or more digests. */
function toHash(field: string | undefined): string | undefined {
  const text = /(?:^|,) *sha-256=:([A-Za-z0-9+/]{43}=): *(?:,|$)/.exec(field ?? '')?.[1]
  return text && Buffer.from(text, 'base64').toString('hex')
}

/** Offset of the bytes and size of the file; a range of `*` asks for the received size. */
function toRange(request: GatewayRequest) {
  const length = Number(request.field?.('content-length') ?? Number.NaN)
  const field = request.field?.('content-range')
  if (field === undefined) return Number.isInteger(length) ? { from: 0, bytes: length } : undefined
  const asked = /^bytes \*\/(\d{1,15})$/.exec(field)?.[1]
  if (asked !== undefined) return { from: undefined, bytes: Number(asked) }
  const [, from, to, all] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/.exec(field) ?? []
  if (all === undefined || Number(to) + 1 !== Number(all)) return undefined
  return { from: Number(from), bytes: Number(all) }
}
