import { t } from 'tap'
import { type AuthorizeOptions, authenticate } from '../../../api/access/authorize.js'
import type { Identified } from '../../../api/identity/identity.js'
import type { GatewayRequest } from '../../../api/request.js'

const request: GatewayRequest = {
  ...{ method: 'POST', path: '/v1/gateway/login', authorization: 'Bearer a', body: '', id: 'a' },
  ...{ isMutual: false, startedAt: 0 },
}
const who = { clientId: 'C-1', pseudonym: 'p' }

/** What `authenticate` makes of a token that proves this, at once or later. */
async function made(identified: Identified, connects: boolean) {
  const optionsOf = (identify: () => Identified | Promise<Identified>) =>
    ({ identity: { identify }, tokenBytesMax: 100, connects }) as unknown as AuthorizeOptions
  const atOnce = await authenticate(
    optionsOf(() => identified),
    request,
  )
  const later = await authenticate(
    optionsOf(async () => identified),
    request,
  )
  t.same(atOnce, later)
  return atOnce
}

t.test(
  'the token of a third party proves nothing to login, not even a failed attempt',
  async (t) => {
    for (const scopes of [['FB=4_16'], ['openid', 'HistoryLength=0;FB=4']]) {
      const grant = { application: 'app', scopes }
      for (const identified of [
        { kind: 'customer', ...who, grant },
        { kind: 'counted', ...who, grant, reason: 'revoked', token: 'a' },
      ] as const) {
        t.same(
          await made(identified, false),
          identified,
          'without the section they are nothing special',
        )
        t.same(await made(identified, true), { kind: 'refused', reason: 'token of a third party' })
      }
    }
    const plain = {
      kind: 'customer',
      ...who,
      grant: { application: 'app', scopes: ['openid'] },
    } as const
    t.same(await made(plain, true), plain)
    const saml = { kind: 'customer', ...who } as const
    t.same(await made(saml, true), saml)
  },
)
