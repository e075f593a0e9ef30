import uWS from 'uWebSockets.js'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { Fault } from '../../schemas/fault.js'
import type { ListenSettings } from '../../schemas/settings/gateway-listener.js'
import { readCertificates } from './certificates.js'
import {
  checkSocketPath,
  type Listener,
  ownSocket,
  toAuthority,
  toListenFault,
} from './listener.js'
import { createReceive, type ReceiveState, type UwsOptions } from './uws-receive.js'
import type { UwsApp, UwsResponse, UwsSocket } from './uws-types.js'

/** How long connections that are idle when a stop begins may still send requests. */
const quietMs = 250
const pollMs = 10

interface Open {
  readonly app: UwsApp
  readonly socket: UwsSocket
  readonly state: ReceiveState
  /** Removes its Unix socket. */
  readonly unlink: () => void
}

/**
 * Serves over uWebSockets.js: TLS 1.2 or later, or plain HTTP. A renewed certificate is served by a
 * second app on the same port before the first closes, so that no connection is refused. Throws
 * `LISTENER` for a bad certificate or address, `PORT_TAKEN` where another program listens.
 */
export async function createUwsListener(options: UwsOptions): Promise<Listener> {
  const { settings, limits } = options
  if (settings.socket !== undefined) await checkSocketPath(settings.socket)
  else if (settings.port !== 0) await expectFree(settings)
  let open = listen(options, settings.port)
  let closed: Promise<void> | undefined
  const port = settings.socket === undefined ? uWS.us_socket_local_port(open.socket) : 0
  const scheme = settings.tls ? 'https' : 'http'
  return {
    address: settings.socket ?? `${scheme}://${toAuthority({ ...settings, port })}`,
    port,
    renewCertificate: async () => {
      if (settings.tls === undefined) return
      const renewed = listen(options, port)
      const before = open
      open = renewed
      void drain(before, limits.stopMsMax)
    },
    close: () => {
      closed ??= drain(open, limits.stopMsMax)
      return closed
    },
  }
}

function listen(options: UwsOptions, port: number): Open {
  const { settings, limits } = options
  const state: ReceiveState = { isClosing: false, inFlight: 0, lastAt: 0 }
  const app = createApp(settings)
  let connections = 0
  const count = (response: UwsResponse, change: number) => {
    connections += change
    if (change > 0 && connections > limits.connectionsMax) response.close()
  }
  app.filter(count)
  app.any('/*', createReceive(options, state))
  let socket: UwsSocket | false = false
  const keep = (opened: UwsSocket | false) => {
    socket = opened
  }
  if (settings.socket === undefined) app.listen(settings.host, port, keep)
  else app.listen_unix(keep, settings.socket)
  const opened = socket as UwsSocket | false
  if (opened !== false) {
    const unlink = settings.socket === undefined ? () => undefined : ownSocket(settings.socket)
    return { app, socket: opened, state, unlink }
  }
  const place = settings.socket ?? toAuthority({ ...settings, port })
  throw new Fault('LISTENER', `cannot listen on ${place}; check gateway.listen`)
}

/** Checks the certificate first: with a bad one the app would fail to listen without a reason. */
function createApp({ tls }: ListenSettings): UwsApp {
  if (tls === undefined) return uWS.App() as unknown as UwsApp
  readCertificates(tls, 'gateway.listen.tls')
  return uWS.SSLApp({
    cert_file_name: tls.certFile,
    key_file_name: tls.keyFile,
  }) as unknown as UwsApp
}

/** uWebSockets.js shares ports (SO_REUSEPORT), so check first that no other program has this one. */
async function expectFree({ host, port }: ListenSettings): Promise<void> {
  const probe = createServer()
  try {
    probe.listen({ host, port, exclusive: true })
    await once(probe, 'listening')
  } catch (cause) {
    throw toListenFault({ host, port }, cause)
  } finally {
    await new Promise((resolve) => probe.close(resolve))
  }
}

/**
 * Answers all received requests, closes their connections, then closes idle ones. What has connected
 * is accepted first, in a complete turn of the event loop: the system resets it otherwise.
 */
async function drain({ app, socket, state, unlink }: Open, stopMsMax: number): Promise<void> {
  state.isClosing = true
  await turn()
  await turn()
  unlink()
  uWS.us_listen_socket_close(socket)
  const from = performance.now()
  state.lastAt = from
  const isBusy = () => state.inFlight > 0 || performance.now() - state.lastAt < quietMs
  while (isBusy() && performance.now() - from < stopMsMax) await sleep(pollMs)
  app.close()
}
