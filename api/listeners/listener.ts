import { accessSync, chmodSync, constants, lstatSync, rmSync } from 'node:fs'
import { createConnection } from 'node:net'
import { dirname } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { type GatewayLimits, socketBytesMax } from '../../schemas/settings/gateway-listener.js'
import type { Handle, Refuse } from '../request.js'

/** Options of every listener; `S` is its section of the profile. */
export interface ListenerOptions<S> {
  readonly settings: S
  readonly limits: GatewayLimits
  readonly requestsPerSecondMax: number
  readonly handle: Handle
  readonly refuse: Refuse
  /** Whether `traceparent` is read. */
  readonly isTraced?: boolean
  readonly requestId: (given: string | undefined) => string
  readonly onFailure: (error: unknown, requestId: string) => void
}

/** A listener that accepts requests. */
export interface Listener {
  /** `https://127.0.0.1:8443`, or the path of a Unix socket. */
  readonly address: string
  /** 0 for a Unix socket. */
  readonly port: number
  /** Loads the certificate files again; on a `LISTENER` fault the old certificate stays. */
  renewCertificate(): Promise<void>
  /**
   * Accepts no new connections, answers received requests and closes idle connections. Resolves when
   * all connections are closed, or after `stopMsMax`.
   */
  close(): Promise<void>
}

/** Bytes of a piece of a body, on average, behind the first pieces. */
const pieceBytesMin = 64
const piecesMaxMin = 256

/**
 * How many pieces the body of a request may have. Each chunk is a piece, and costs the listener's only
 * thread microseconds: a thousand bodies in chunks of one byte would hold up all others for a minute.
 */
export function piecesMaxOf({ bodyBytesMax }: Pick<GatewayLimits, 'bodyBytesMax'>): number {
  return Math.max(piecesMaxMin, bodyBytesMax / pieceBytesMin)
}

interface Place {
  /** Setting of host and port, for error messages. */
  readonly setting?: string
  readonly host: string
  readonly port: number
}

/** `host:port` of a URL; an IPv6 address is in brackets (RFC 3986 section 3.2.2). */
export function toAuthority({ host, port }: Pick<Place, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Why a listener cannot have its place. */
export function toListenFault(place: Place, cause: unknown): Fault {
  const { code } = cause as NodeJS.ErrnoException
  const of = place.setting === undefined ? '' : `${place.setting}: `
  const at = toAuthority(place)
  if (code === 'EADDRINUSE') {
    const detail = `${of}another program listens on ${at}; stop it, or choose another port`
    return new Fault('PORT_TAKEN', detail, { cause })
  }
  const detail = `${of}cannot listen on ${at} (${code}); choose another host or port`
  return new Fault('LISTENER', detail, { cause })
}

/**
 * Throws `LISTENER` where no Unix socket may be created: a file of another kind is never replaced by
 * one. Throws `PORT_TAKEN` where another program listens; a socket that nobody serves may be replaced.
 */
export async function checkSocketPath(path: string): Promise<void> {
  checkSocketFolder(path)
  const found = lstatSync(path, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isSocket()) {
    const detail = `gateway.listen.socket: ${path} exists and is not a socket`
    throw new Fault('LISTENER', `${detail}; choose another path, or remove it`)
  }
  const code = await whyNotConnected(path)
  if (code === 'ECONNREFUSED' || code === 'ENOENT') return
  const detail = `gateway.listen.socket: another program listens on ${path}`
  const reason = code === undefined ? '' : ` (${code})`
  throw new Fault('PORT_TAKEN', `${detail}${reason}; stop it, or choose another path`)
}

/** A relative path is longer once it starts at the data folder. */
function checkSocketFolder(path: string): void {
  const bytes = Buffer.byteLength(path)
  if (bytes > socketBytesMax) {
    const detail = `gateway.listen.socket: the path ${path} has ${bytes} bytes`
    throw new Fault('LISTENER', `${detail}; use at most ${socketBytesMax}`)
  }
  const folder = dirname(path)
  try {
    accessSync(`${folder}/`, constants.W_OK | constants.X_OK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const detail = `gateway.listen.socket: no socket can be created in ${folder} (${code})`
    throw new Fault('LISTENER', `${detail}; create the folder for this user`, { cause })
  }
}

/** The system's code; undefined if a program accepts the connection. */
function whyNotConnected(path: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = createConnection({ path })
    socket.once('error', ({ code = 'UNKNOWN' }: NodeJS.ErrnoException) => resolve(code))
    socket.once('connect', () => {
      socket.destroy()
      resolve(undefined)
    })
  })
}

/**
 * Opens a new socket to its group. Returns what removes it, unless it has been replaced since. Call that
 * while it is still listened on: its inode cannot be another socket's until then.
 */
export function ownSocket(path: string): () => void {
  chmodSync(path, 0o660)
  const { dev, ino } = lstatSync(path)
  return () => {
    const found = lstatSync(path, { throwIfNoEntry: false })
    if (found?.ino === ino && found.dev === dev) rmSync(path)
  }
}
