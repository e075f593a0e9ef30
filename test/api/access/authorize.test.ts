import { t } from 'tap'
import { type AuthorizeOptions, authenticate, authorize } from '../../../api/access/authorize.js'
import type { Identified } from '../../../api/identity/identity.js'
import type { GatewayRequest } from '../../../api/request.js'

const request: GatewayRequest = {
  ...{ method: 'POST', path: '/v1/gateway/login', authorization: 'Bearer a', body: '', id: 'a' },
  ...{ isMutual: false, startedAt: 0 },
}
const who = { clientId: 'C-1', pseudonym: 'p' }

/** What `authenticate` makes of a token that proves this, at once or later. */
async function made(identified: Identified, applications?: ReadonlySet<string>) {
  const optionsOf = (identify: () => Identified | Promise<Identified>) =>
    ({ identity: { identify }, tokenBytesMax: 100, applications }) as unknown as AuthorizeOptions
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
    const listed = new Set(['app'])
    for (const grant of [
      { applications: ['app'], scopes: ['FB=4_16'] },
      { applications: ['other'], scopes: ['openid', 'HistoryLength=0;FB=4'] },
      { applications: ['app'], scopes: ['openid'] },
      { applications: ['app'], scopes: [] },
      { applications: ['other', 'app'], scopes: ['openid'] },
    ]) {
      for (const identified of [
        { kind: 'customer', ...who, grant },
        { kind: 'counted', ...who, grant, reason: 'revoked', token: 'a' },
      ] as const) {
        t.same(await made(identified), identified, 'without the section they are nothing special')
        t.same(await made(identified, listed), {
          kind: 'refused',
          reason: 'token of a third party',
        })
      }
    }
    const plain = {
      kind: 'customer',
      ...who,
      grant: { applications: ['platform'], scopes: ['openid'] },
    } as const
    t.same(await made(plain, listed), plain)
    const saml = { kind: 'customer', ...who } as const
    t.same(await made(saml, listed), saml)
  },
)

t.test(
  'what the CIS says is left decides the code, and more than two left is code 1',
  async (t) => {
    const counted = { kind: 'counted', ...who, reason: 'revoked', token: 'a' } as const
    const options = { locks: { has: () => false } } as unknown as AuthorizeOptions
    const status = { isKnown: true, locked: undefined, isClosed: false, hasMeter: true } as const
    for (const [attemptsRemaining, denial] of [
      ...([
        [-1, 'locked'],
        [0, 'locked'],
        [1, 'oneLeft'],
      ] as const),
      ...([
        [2, 'twoLeft'],
        [3, 'token'],
        [4, 'token'],
        [1_000, 'token'],
      ] as const),
    ]) {
      const answer = await authorize(options, counted, { ...status, attemptsRemaining })
      t.match(answer, { kind: 'denied', denial }, `${attemptsRemaining} left`)
    }
  },
)
