import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { t } from 'tap'
import { createPseudonymizer } from '../../../api/access/pseudonym.js'
import { createIntrospection } from '../../../api/identity/introspection.js'
import { createOidc } from '../../../api/identity/oidc.js'
import { demoCertificates } from '../../../infra/demo/certificates.js'
import {
  type IntrospectionSettings,
  identitySettings,
  type OidcSettings,
} from '../../../schemas/settings/gateway-identity.js'
import { createFolder } from '../../rig/folder.js'
import { createIssuer, createSigner } from './issuer.js'

const folder = createFolder(t)
const own = demoCertificates(join(folder, 'own'))
const foreign = demoCertificates(join(folder, 'foreign'))
const signer = createSigner()
const issuer = await createIssuer(signer)
t.teardown(issuer.close)
const server = createServer(
  { cert: readFileSync(own.certFile), key: readFileSync(own.keyFile) },
  ({ url = '' }, response) => {
    const documents: Readonly<Record<string, object>> = {
      '/.well-known/openid-configuration': { issuer: place(), jwks_uri: `${place()}/jwks` },
      '/jwks': { keys: [signer.jwk] },
      '/introspect': { active: true, sub: 'C-1', aud: 'tieline' },
    }
    response.end(JSON.stringify(documents[url] ?? {}))
  },
).listen(0, '127.0.0.1')
await once(server, 'listening')
t.teardown(() => server.closeAllConnections())
t.teardown(() => server.close())
const place = () => `https://localhost:${(server.address() as { port: number }).port}`

const shared = {
  pseudonymize: createPseudonymizer('key'),
  tokensCachedMax: 10,
  now: Date.now,
  onFailure: () => undefined,
  report: () => undefined,
}
const kinds = {
  oidc: (caFile: string | undefined) => {
    const issuers = [{ issuer: place(), audience: 'tieline' }]
    const settings = identitySettings.parse({ kind: 'oidc', claim: 'sub', issuers, caFile })
    return createOidc({ settings: settings as OidcSettings, ...shared })
  },
  introspection: (caFile: string | undefined) => {
    const client = { clientId: 'tieline', clientSecret: { env: 'SECRET' } }
    const url = `${place()}/introspect`
    const settings = identitySettings.parse({
      kind: 'introspection',
      claim: 'sub',
      url,
      caFile,
      ...client,
    })
    const clientSecret = 'secret'
    return createIntrospection({
      settings: settings as IntrospectionSettings,
      clientSecret,
      ...shared,
    })
  },
}

for (const [kind, create] of Object.entries(kinds)) {
  t.test(`${kind}: a provider of a private authority is trusted by its caFile alone`, async (t) => {
    const token = issuer.token({ claims: { iss: place() } })
    const open = (caFile: string | undefined) => {
      const identity = create(caFile)
      t.teardown(identity.close)
      return identity
    }
    t.match(await open(own.caFile).identify(token), { kind: 'customer', clientId: 'C-1' })
    const outage = { code: 'IDENTITY_UNREACHABLE' }
    const ask = async (caFile: string | undefined) => open(caFile).identify(token)
    await t.rejects(ask(undefined), outage, 'not among those of the system')
    await t.rejects(ask(foreign.caFile), outage, 'another authority')
    const broken = join(folder, 'broken.pem')
    writeFileSync(broken, 'no certificate')
    t.throws(() => open(broken), {
      code: 'PROFILE',
      detail: /broken.pem does not contain a certificate/,
    })
    t.throws(() => open(join(folder, 'none.pem')), { code: 'PROFILE', detail: /none.pem/ })
  })
}
