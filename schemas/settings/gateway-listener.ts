import { z } from 'zod'
import { section, strict } from '../strict.js'
import { byteSize } from './byte-size.js'

const file = z.string().min(1, 'name a file')
/** 0 is for tests: a port that the system chose cannot be listened on again for a renewed certificate. */
const port = z.int().min(0, 'use a port from 1 to 65535, or 0 for a free one').max(65_535)
const host = z.string().min(1, 'name a host').default('127.0.0.1')

const range = z
  .string()
  .regex(/^[0-9a-fA-F:.]{2,45}(\/\d{1,3})?$/, 'use an address or a range such as 10.0.0.0/8')
/** Addresses of sockets that may call; empty lets every address in. */
const allow = z.array(range).max(1_000, 'use at most 1000 ranges').readonly().default([])

const certificate = { certFile: file, keyFile: file } as const

const loopback = new Set(['127.0.0.1', '::1', 'localhost'])

/** unix(7): 108 bytes with the NUL at the end. */
export const socketBytesMax = 107

/** Login and customer: TLS, or plain HTTP on loopback or a Unix socket behind a terminator. */
const listen = z
  .strictObject({
    host,
    port: port.default(8443),
    /** Path of a Unix socket, instead of host and port; a relative one starts at the data folder. */
    socket: file
      .refine((path) => Buffer.byteLength(path) <= socketBytesMax, {
        error: `use at most ${socketBytesMax} bytes`,
      })
      .optional(),
    tls: strict(certificate).optional(),
    allow,
  })
  .refine(({ tls, socket, host }) => tls || socket || loopback.has(host), {
    path: ['tls'],
    error: 'missing: plain HTTP is for loopback or a Unix socket only',
  })
  .readonly()

/** What else a client certificate of the authority must fulfil, wherever one is asked for. */
export const clientCertificates = {
  /** Revoked certificates (PEM), of every authority in `clientCaFile`. */
  crlFile: file.optional(),
  /** Common or alternative names of the certificates that are accepted; empty accepts every name. */
  clients: z.array(file).max(1_000).readonly().default([]),
} as const

/**
 * One address for login, customer and bind. A client certificate is required for bind, or for
 * everything with `mutualTls: all`.
 */
const mutual = strict({
  host,
  port: port.default(8444),
  tls: strict({
    ...certificate,
    clientCaFile: file,
    crlFile: clientCertificates.crlFile,
  }),
  clients: clientCertificates.clients,
  allow,
})

const milliseconds = (fallback: number) => z.int().min(10).max(600_000).default(fallback)

const limits = section({
  /** All header fields of a request together. */
  headerBytesMax: byteSize('16 KB', { min: '4 KB', max: '64 KB' }),
  bodyBytesMax: byteSize('16 KB', { min: '1 KB', max: '1 MB' }),
  tokenBytesMax: byteSize('16 KB', { min: '1 KB', max: '64 KB' }),
  /** From the last byte of a header to the last byte of its body. */
  bodyMsMax: milliseconds(5_000),
  /** From a full request to its answer; beyond it 503. */
  answerMsMax: milliseconds(10_000),
  /** Open connections of a listener; more are closed at once. Keep it below the limit of open files. */
  connectionsMax: z.int().min(1).max(1_000_000).default(10_000),
  requestsInFlightMax: z.int().min(1).max(1_000_000).default(10_000),
  tokensCachedMax: z.int().min(0).max(10_000_000).default(100_000),
  /** How long a stop waits for answers. */
  stopMsMax: milliseconds(10_000),
})

export const listenerSettings = {
  listen: listen.optional(),
  mutual: mutual.optional(),
  mutualTls: z.enum(['bind', 'all']).default('bind'),
  /** `own`: this service counts failed attempts where the CIS does not (decision 4). */
  attempts: z.enum(['cis', 'own']).default('cis'),
  /** Health endpoints for the operator, plain HTTP. */
  operations: section({ host, port: port.default(9464) }),
  /** Requests of one address, or one IPv6 network of 64 bits, in one second; beyond it 429. */
  requestsPerSecondMax: z.int().min(1).max(10_000_000).default(1_000),
  /** How often certificate files are looked at, seconds. */
  certificateSeconds: z.int().min(1).max(86_400).default(10),
  limits,
} as const

export type ListenSettings = z.output<typeof listen>
export type MutualSettings = z.output<typeof mutual>
export type GatewayLimits = z.output<typeof limits>
