import { validateHeaderValue } from 'node:http'
import { Fault } from '../schemas/fault.js'
import type { HeaderSettings, UtilityServerSettings } from '../schemas/gateway/utility-server.js'
import { type SecretReference, secretNameOf } from '../schemas/settings/secret.js'
import {
  createHttpClient,
  type HttpClient,
  type HttpClientOptions,
  type HttpRequest,
} from './http-client.js'
import { createAccessTokens } from './oauth.js'

type Settings = UtilityServerSettings &
  Pick<HttpClientOptions, 'timeoutMs' | 'connectionsMax' | 'answerBytesMax'>
type Options = Pick<HttpClientOptions, 'fault' | 'name' | 'mayQueue'> & {
  readonly secret: (reference: SecretReference) => string
}

/**
 * Calls a server of the utility's with the header fields, the access token and the client certificate
 * of its settings. A token that the server refuses (401) is replaced once.
 */
export function createUtilityClient(settings: Settings, options: Options): HttpClient {
  const client = createHttpClient({ ...settings, ...options })
  const headers = resolveHeaders(settings.headers, options.secret)
  const send = (call: HttpRequest, token?: string) => {
    const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` }
    return client.send({ ...call, headers: { ...call.headers, ...headers, ...authorization } })
  }
  if (settings.oauth === undefined) return { send: (call) => send(call), close: client.close }
  const name = `the OAuth server of ${options.name}`
  const asking = createHttpClient({ ...settings, ...options, name })
  const access = { ...options, settings: settings.oauth, client: asking, now: Date.now }
  const tokens = createAccessTokens(access)
  return {
    send: async (call) => {
      const token = await tokens.get()
      const response = await send(call, token)
      if (response.status !== 401) return response
      tokens.drop(token)
      return send(call, await tokens.get())
    },
    close: async () => {
      await Promise.all([client.close(), asking.close()])
    },
  }
}

/**
 * A path with an identifier in its place. Undefined for `.` and `..`: encoded or not, an address takes them for
 * steps between folders, so that the call would ask for something else of the server.
 */
export function fillPath(path: string, place: string, identifier: string): string | undefined {
  if (identifier === '.' || identifier === '..') return undefined
  return path.replaceAll(place, encodeURIComponent(identifier))
}

/** How long one call may take, milliseconds: a token, the call, and both again after a 401. */
export function callMsMax({ timeoutMs, oauth }: Pick<Settings, 'timeoutMs' | 'oauth'>): number {
  return oauth === undefined ? timeoutMs : 4 * timeoutMs
}

/** Header fields with their secret references resolved. Throws `CONFIG` for a value that cannot be sent. */
export function resolveHeaders(
  headers: HeaderSettings,
  secret: Options['secret'],
): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => {
      const isText = typeof value === 'string'
      const sent = isText ? value : secret(value)
      try {
        validateHeaderValue(name, sent)
      } catch (cause) {
        const what = isText ? 'text' : `secret ${secretNameOf(value)}`
        const remedy = 'remove line breaks, control characters and typographic ones'
        throw new Fault(
          'CONFIG',
          `the ${what} in the header ${name} has a character that cannot be sent; ${remedy}`,
          { cause },
        )
      }
      return [name, sent]
    }),
  )
}
