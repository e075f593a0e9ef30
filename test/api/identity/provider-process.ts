import { Provider } from 'oidc-provider'

/** What the parent sends: where to listen, with which keys, and the client's address. */
interface Start {
  readonly port: number
  readonly jwks: { readonly keys: object[] }
  readonly redirectUri: string
  /** What it grants. */
  readonly scope: string
  /** How long a token is valid. */
  readonly seconds: number
}

/** A real OpenID provider in a process of its own; its development pages sign anybody in. */
function start({ port, jwks, redirectUri, scope, seconds }: Start): void {
  const issuer = `http://127.0.0.1:${port}`
  const provider = new Provider(issuer, {
    jwks,
    clients: [
      ...['app', 'platform'].map((client_id) => ({
        client_id,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'none' as const,
        grant_types: ['authorization_code'],
        response_types: ['code' as const],
        application_type: 'native' as const,
      })),
      {
        client_id: 'gateway',
        client_secret: 'a secret: 100 % & more',
        redirect_uris: [],
        grant_types: ['client_credentials'],
        response_types: [],
      },
    ],
    cookies: { keys: ['a key for cookies'] },
    pkce: { required: () => true },
    extraTokenClaims: (_context: unknown, token: { accountId: string }) => ({
      utility: { partner: token.accountId },
    }),
    features: {
      devInteractions: { enabled: true },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => 'urn:tieline',
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope,
          audience: 'tieline',
          accessTokenFormat: 'jwt',
          accessTokenTTL: seconds,
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    findAccount: (_context: unknown, accountId: string) => ({
      accountId,
      claims: () => ({ sub: accountId }),
    }),
  })
  const server = provider.listen(port, '127.0.0.1', () => process.send?.({ type: 'ready' }))
  // After the default of 5 s a test's next request may meet a connection that closes.
  server.keepAliveTimeout = 600_000
}

process.on('disconnect', () => process.exit(0))
process.on('message', (message) => start(message as Start))
