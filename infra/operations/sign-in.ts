import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { join } from 'node:path'
import { withDeadline } from '../../pipeline/deadline.js'
import { escapeMarkup } from '../../pipeline/green-button/xml.js'
import { packageRoot } from '../package-root.js'
import { cookieName, foreignText, isOwn, type People, sessionIds } from './access.js'
import { toAuthorization } from './logins.js'

export interface SignIn {
  /** Answers the form and the end of a session; false for every other request. */
  answer(exchange: Exchange): Promise<boolean>
  /** Refuses a request without a session: with the form, or with a text for scripts. */
  refuse(exchange: Exchange, text: string): void
}

export interface Exchange {
  readonly request: IncomingMessage
  readonly response: ServerResponse
  readonly url: URL
}

interface Shown {
  readonly status: number
  /** How far the form's path is below the page's first one. */
  readonly up: string
  /** Where the browser goes next, below the page's first path. */
  readonly to: string
  /** The user name that was sent. */
  readonly name?: string
  readonly message?: string
}

const bodyBytesMax = 4_096
const bodyMsMax = 10_000
const formType = /^application\/x-www-form-urlencoded(?:\s*;|$)/i

/** A browser sends no origin with a form under `no-referrer`. */
const formHeaders = { 'Referrer-Policy': 'same-origin', 'Content-Type': 'text/html; charset=utf-8' }

/**
 * Signing in with a form. All addresses are relative, and the cookie has the path of the form, so
 * that a proxy may serve the page below any prefix.
 */
export function createSignIn(
  { login, sessions }: People,
  { policy, isTls }: { readonly policy: string; readonly isTls: boolean },
): SignIn {
  const path = join(packageRoot(import.meta.url), 'infra', 'operations', 'browser', 'sign-in.html')
  const template = readFileSync(path, 'utf8')

  function show(response: ServerResponse, { status, up, to, name = '', message }: Shown): void {
    const texts: Readonly<Record<string, string>> = {
      up,
      to: escapeMarkup(to),
      name: escapeMarkup(name),
      message: message === undefined ? '' : `<p class="fault" role="alert">${message}</p>`,
    }
    const own = policy.replace("form-action 'none'", "form-action 'self'")
    response.writeHead(status, { ...formHeaders, 'Content-Security-Policy': own })
    response.end(template.replace(/\{(up|to|name|message)\}/g, (_, of: string) => texts[of] ?? ''))
  }

  function setCookie({ request, response }: Exchange, value: string, more = ''): void {
    // A proxy in front may speak TLS with the browser: then the form's origin shows it.
    const isSecure = isTls || (request.headers.origin ?? '').startsWith('https:')
    const attributes = `HttpOnly; SameSite=Strict${isSecure ? '; Secure' : ''}${more}`
    response.setHeader('Set-Cookie', `${cookieName(request)}=${value}; ${attributes}`)
  }

  async function begin(exchange: Exchange): Promise<void> {
    const { request, response } = exchange
    const body = await readForm(request)
    if (typeof body === 'number') {
      response.setHeader('Connection', 'close')
      return show(response, { status: body, up: '', to: '', message: messages[body] ?? '' })
    }
    const to = targetOf(body.get('to') ?? '')
    const [name = '', password = ''] = ['name', 'password'].map((one) => body.get(one) ?? '')
    const admission = await login(toAuthorization(name, password))
    if (!('who' in admission)) {
      const { status } = admission
      return show(response, {
        status,
        up: '',
        to,
        name,
        message: messages[status] ?? admission.text,
      })
    }
    for (const id of sessionIds(request)) sessions.end(id)
    setCookie(exchange, sessions.begin(admission.who))
    response.writeHead(303, { Location: `./${to}` }).end()
  }

  function end(exchange: Exchange): void {
    for (const id of sessionIds(exchange.request)) sessions.end(id)
    setCookie(exchange, '', '; Max-Age=0')
    exchange.response.writeHead(204).end()
  }

  return {
    answer: async (exchange) => {
      const { request, response, url } = exchange
      const { method } = request
      if (url.pathname === '/login' && method === 'GET') {
        show(response, { status: 200, up: '', to: '' })
        return true
      }
      if (!(url.pathname === '/login' || url.pathname === '/logout') || method !== 'POST') {
        return false
      }
      if (!isOwn(request)) {
        response.writeHead(403, {
          'Content-Type': 'text/plain; charset=utf-8',
          Connection: 'close',
        })
        response.end(`${foreignText}\n`)
      } else if (url.pathname === '/logout') end(exchange)
      else await begin(exchange)
      return true
    },
    refuse: ({ request, response, url }, text) => {
      const { method, headers } = request
      if (isBrowser(request) && method === 'GET' && /\btext\/html\b/.test(headers.accept ?? '')) {
        const depth = url.pathname.split('/').length - 2
        const to = targetOf(`${url.pathname.slice(1)}${url.search}`)
        return show(response, { status: 401, up: '../'.repeat(depth), to })
      }
      // With the challenge, a browser would ask for the password in a box of its own.
      if (!isBrowser(request)) response.setHeader('WWW-Authenticate', 'Basic realm="Tieline"')
      response.writeHead(401, { 'Content-Type': 'text/plain; charset=utf-8' })
      response.end(`${text}\n`)
    },
  }
}

const messages: Readonly<Record<number, string>> = {
  400: 'The form was not complete. Try again.',
  401: 'User name or password is wrong.',
  408: 'The form did not arrive in time. Try again.',
  413: 'The form is too long.',
  415: 'Send the form as application/x-www-form-urlencoded.',
  503: 'Too many people are signing in. Try again.',
}

/** Browsers send Sec-Fetch-Mode over HTTPS and to localhost only; PowerShell asks for the challenge. */
function isBrowser({ headers }: IncomingMessage): boolean {
  const agent = headers['user-agent'] ?? ''
  return headers['sec-fetch-mode'] !== undefined || /^Mozilla\/(?!.*PowerShell)/.test(agent)
}

const target = /^[\w.-]*(?:\/[\w.-]+)*(?:\?[\w.=&-]*)?$/

/** A path of the page as the form brings it back; the overview for all others. */
function targetOf(to: string): string {
  const isPlain = target.test(to) && !/(?:^|\/)\.{1,2}(?:[/?]|$)/.test(to)
  return isPlain && !/^(?:login|logout)\b/.test(to) ? to : ''
}

/** The fields of a form, or the status that refuses it. */
async function readForm(request: IncomingMessage): Promise<URLSearchParams | number> {
  if (!formType.test(request.headers['content-type'] ?? '')) return 415
  if (Number(request.headers['content-length'] ?? 0) > bodyBytesMax) return 413
  return withDeadline(readBody(request), bodyMsMax, () => 408)
}

async function readBody(request: IncomingMessage): Promise<URLSearchParams | number> {
  const parts: Buffer[] = []
  let bytes = 0
  try {
    for await (const part of request.iterator({ destroyOnReturn: false })) {
      bytes += (part as Buffer).length
      if (bytes > bodyBytesMax) return 413
      parts.push(part as Buffer)
    }
  } catch {
    return 400
  }
  return new URLSearchParams(Buffer.concat(parts).toString('utf8'))
}
