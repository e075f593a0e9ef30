import { type ChildProcess, fork } from 'node:child_process'
import { createHash, generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { packageRoot } from '../../../infra/package-root.js'
import { anyPort } from '../../rig/any-port.js'

const program = join(packageRoot(import.meta.url), 'dist/test/api/identity/provider-process.js')
const redirectUri = 'http://127.0.0.1/signed-in'

/** The applications in which somebody can sign in. */
type Client = 'app' | 'platform'

export interface OpenIdProvider {
  readonly issuer: string
  /** Drives the authorization code flow with PKCE, as an app and its user do. */
  signIn(
    login: string,
    scope?: string,
    client?: Client,
  ): Promise<{ readonly accessToken: string; readonly idToken: string }>
  /** A token of a program for itself (RFC 6749, section 4.4). */
  clientToken(scope: string): Promise<string>
  /** Ends the process at once. */
  stop(): Promise<void>
  /** Starts it again on its port, with new keys or another life of tokens if asked for. */
  restart(options?: { readonly newKeys?: boolean; readonly seconds?: number }): Promise<void>
}

/** `scopes` are what it grants in addition to `customer`. */
export async function createProvider(scopes: readonly string[] = []): Promise<OpenIdProvider> {
  const port = await freePort()
  const issuer = `http://127.0.0.1:${port}`
  let jwks = createKeys()
  const fixed = { port, redirectUri, scope: ['customer', ...scopes].join(' ') }
  let child = await startProcess({ ...fixed, jwks, seconds: 3_600 })
  return {
    issuer,
    signIn: (login, scope = 'customer', client = 'app') => signIn(issuer, client, { login, scope }),
    clientToken: (scope) => clientToken(issuer, scope),
    stop: () => end(child),
    restart: async (options) => {
      await end(child)
      if (options?.newKeys) jwks = createKeys()
      child = await startProcess({ ...fixed, jwks, seconds: options?.seconds ?? 3_600 })
    },
  }
}

function createKeys() {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 })
  const jwk = {
    ...privateKey.export({ format: 'jwk' }),
    kid: randomUUID(),
    use: 'sig',
    alg: 'RS256',
  }
  return { keys: [jwk] }
}

async function startProcess(start: object): Promise<ChildProcess> {
  const child = fork(program, [], { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  child.send(start)
  await once(child, 'message')
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}

/** A port on which nothing listens. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = anyPort()
    const server = createServer().listen(port, '127.0.0.1')
    const listens = await once(server, 'listening').catch(() => undefined)
    if (listens === undefined) continue
    await new Promise((resolve) => server.close(resolve))
    return port
  }
}

/** A browser without pictures: follows redirects, keeps cookies. */
function createBrowser() {
  const cookies = new Map<string, string>()
  const visit = async (url: string, form?: Readonly<Record<string, string>>): Promise<Response> => {
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = (line.split(';')[0] ?? '').split(/=(.*)/)
      cookies.set(name, value)
    }
    return answer
  }
  return { visit }
}

const basicOf = (id: string, secret: string) =>
  `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`

async function clientToken(issuer: string, scope: string): Promise<string> {
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { Authorization: basicOf('gateway', 'a secret: 100 % & more') },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: 'urn:tieline', scope }),
  })
  const { access_token } = (await answer.json()) as { readonly access_token?: string }
  if (access_token === undefined) throw new Error(`no token for a client: ${answer.status}`)
  return access_token
}

async function signIn(
  issuer: string,
  client: Client,
  { login, scope }: { readonly login: string; readonly scope: string },
) {
  const verifier = randomBytes(32).toString('base64url')
  const query = new URLSearchParams({
    client_id: client,
    response_type: 'code',
    redirect_uri: redirectUri,
    scope: `openid ${scope}`,
    resource: 'urn:tieline',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
  })
  const code = await authorize(`${issuer}/auth?${query}`, issuer, login)
  const answer = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: client,
      redirect_uri: redirectUri,
      resource: 'urn:tieline',
      code,
      code_verifier: verifier,
    }),
  })
  const tokens = (await answer.json()) as { access_token: string; id_token: string }
  return { accessToken: tokens.access_token, idToken: tokens.id_token }
}

/** From page to page, signing in and consenting where asked, to the redirect with the code. */
async function authorize(from: string, issuer: string, login: string): Promise<string> {
  const { visit } = createBrowser()
  let url = from
  for (let page = 0; page < 20; page++) {
    let answer = await visit(url)
    if (answer.status === 200) {
      const text = await answer.text()
      const prompt = /name="prompt" value="(\w+)"/.exec(text)?.[1] ?? ''
      const action = /action="([^"]+)"/.exec(text)?.[1] ?? url
      const form: Record<string, string> = { prompt }
      if (prompt === 'login') Object.assign(form, { login, password: 'any' })
      answer = await visit(new URL(action, issuer).href, form)
    }
    const location = answer.headers.get('location')
    if (location === null) throw new Error(`no way on from ${url}: ${answer.status}`)
    url = new URL(location, issuer).href
    const code = url.startsWith(redirectUri) ? new URL(url).searchParams.get('code') : null
    if (code !== null) return code
  }
  throw new Error(`no code after 20 pages, last at ${url}`)
}
