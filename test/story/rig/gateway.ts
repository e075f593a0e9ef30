import type { Test } from 'tap'
import { createDemoAmi } from '../../../infra/demo/back-office/ami.js'
import { createDemoCis } from '../../../infra/demo/back-office/cis.js'
import { createDemoIdp } from '../../../infra/demo/back-office/idp.js'
import type { OfficeServer } from '../../../infra/demo/back-office/server.js'
import { type Certificates, demoCertificates } from '../../../infra/demo/certificates.js'
import { freePort } from '../../api/identity/provider.js'
import { createRevoker } from '../../api/identity/revoker.js'
import { type Asked, passwordHash, people, post, serverFiles } from '../../api/rig.js'
import { createFolder } from '../../rig/folder.js'
import { createStory, type StoryOptions, type StoryStack } from './stack.js'

/** A whole stack with its gateway, before a simulated back office. */
export interface GatewayStory {
  readonly story: StoryStack
  readonly idp: OfficeServer
  readonly cis: OfficeServer
  readonly ami: OfficeServer
  readonly certificates: Certificates
  readonly mutualUrl: string
  ask(path: string, token: string, more?: Readonly<Record<string, string>>): Promise<Asked>
  token(clientId: string, more?: object): Promise<string>
  /** A token of a customer that the identity provider has revoked: a failed attempt. */
  revoked(clientId: string): string
}

export async function createGatewayStory(
  t: Test,
  { profile, ...more }: StoryOptions = {},
): Promise<GatewayStory> {
  const [revoker, idp, cis, ami] = await Promise.all([
    createRevoker(),
    createDemoIdp(0),
    createDemoCis({ port: 0, ...people }),
    createDemoAmi({ port: 0, ...people }),
  ])
  const certificates = demoCertificates(`${createFolder(t)}/certificates`)
  const story = await createStory({
    ...more,
    stack: { secret: () => 'secret', ...more.stack },
    profile: {
      gateway: {
        listen: { port: await freePort() },
        mutual: { port: await freePort(), tls: serverFiles(certificates) },
        operations: { port: await freePort() },
        attempts: 'own',
      },
      identity: {
        kind: 'several',
        providers: [
          { kind: 'oidc', claim: 'sub', issuers: [{ issuer: idp.url, audience: 'tieline' }] },
          revoker.settings,
        ],
      },
      cis: { kind: 'rest', url: cis.url, statusSeconds: 1 },
      ami: { kind: 'rest', url: ami.url, timeoutMs: 2_000 },
      bind: { users: [{ name: 'platform', passwordHash }] },
      ...profile,
    },
  })
  t.teardown(async () => {
    await story.close()
    await Promise.all([revoker.close(), idp.close(), cis.close(), ami.close()])
  })
  const [bearerUrl = '', mutualUrl = ''] = story.stack.gateway?.detail().addresses ?? []
  return {
    story,
    idp,
    cis,
    ami,
    certificates,
    mutualUrl,
    ask: async (path, token, more) => {
      const headers = { ...more, Authorization: `Bearer ${token}` }
      const answer = await fetch(`${bearerUrl}/v1/gateway/${path}`, { method: 'POST', headers })
      return { status: answer.status, text: await answer.text(), headers: answer.headers }
    },
    revoked: revoker.token,
    token: async (clientId, more) => {
      const { access_token } = await post(`${idp.url}/token`, { clientId, ...more })
      return String(access_token)
    },
  }
}
