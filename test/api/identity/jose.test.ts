import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import fc from 'fast-check'
import { SignJWT } from 'jose'
import { t } from 'tap'
import { readKeys, type TrustedKey, verifyToken } from '../../../api/identity/jose.js'
import { isCanonical, readJwt } from '../../../api/identity/jwt.js'
import { signatureAlgorithms } from '../../../schemas/settings/gateway-identity.js'

interface Pair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const issuer = 'https://idp.example.com'
const now = Date.now()
const exp = Math.floor(now / 1_000) + 600
const expected = { issuer, clockToleranceSeconds: 30, now }

const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 })
const pairs: Readonly<Record<string, Pair>> = {
  RS: rsa,
  PS: rsa,
  ES256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ES384: generateKeyPairSync('ec', { namedCurve: 'P-384' }),
  ES512: generateKeyPairSync('ec', { namedCurve: 'P-521' }),
  EdDSA: generateKeyPairSync('ed25519'),
}
const pairOf = (algorithm: string) => (pairs[algorithm] ?? pairs[algorithm.slice(0, 2)]) as Pair
const jwkOf = ({ publicKey }: Pair) => publicKey.export({ format: 'jwk' })

const algorithmsOf = async (jwk: unknown) =>
  (await readKeys({ keys: [jwk] }, signatureAlgorithms)).map(({ algorithm }) => algorithm)

const keyFor = async (algorithm: string): Promise<TrustedKey> => {
  const [key] = await readKeys({ keys: [jwkOf(pairOf(algorithm))] }, [algorithm])
  if (key === undefined) throw new Error(algorithm)
  return key
}

const tokenOf = (algorithm: string) =>
  new SignJWT({ iss: issuer, exp, sub: 'C-1' })
    .setProtectedHeader({ alg: algorithm })
    .sign(pairOf(algorithm).privateKey)

/** Signed with RS256, whatever the texts are. */
const signText = (header: string, claims: string) => {
  const part = (text: string) => Buffer.from(text).toString('base64url')
  const signed = `${part(header)}.${part(claims)}`
  return `${signed}.${sign('sha256', Buffer.from(signed), rsa.privateKey).toString('base64url')}`
}

t.test('a token is verified for each algorithm, and refused after any change', async (t) => {
  for (const algorithm of signatureAlgorithms) {
    const key = await keyFor(algorithm)
    const good = await tokenOf(algorithm)
    t.match(await verifyToken(good, key, expected), { claims: { sub: 'C-1' } }, algorithm)
    const changes = fc.tuple(fc.nat(good.length - 1), fc.constantFrom(...'AQgw_-09zZ.'))
    await fc.assert(
      fc.asyncProperty(changes, async ([at, letter]) => {
        const token = good.slice(0, at) + letter + good.slice(at + 1)
        if (token === good || readJwt(token) === undefined) return true
        return (await verifyToken(token, key, expected)).problem !== undefined
      }),
      { numRuns: 60 },
    )
  }
})

t.test('a key verifies only the algorithm that it was read for', async (t) => {
  for (const algorithm of signatureAlgorithms) {
    const token = await tokenOf(algorithm)
    for (const other of signatureAlgorithms.filter((one) => one !== algorithm)) {
      const { problem } = await verifyToken(token, await keyFor(other), expected)
      t.equal(problem, 'malformed token', `${algorithm} with a key for ${other}`)
    }
  }
})

t.test('a key is read for the algorithms of its type, its curve and its alg', async (t) => {
  const families = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
  t.same(await algorithmsOf(jwkOf(rsa)), families)
  t.same(await algorithmsOf({ ...jwkOf(rsa), alg: 'PS384' }), ['PS384'])
  for (const one of ['ES256', 'ES384', 'ES512', 'EdDSA']) {
    t.same(await algorithmsOf(jwkOf(pairOf(one))), [one])
  }
  t.same(await algorithmsOf({ ...jwkOf(rsa), use: 'sig', key_ops: ['verify'] }), families)
})

t.test('weak keys, keys for other uses and malformed keys are skipped', async (t) => {
  const create = (options: { modulusLength: number; publicExponent?: number }) =>
    jwkOf(generateKeyPairSync('rsa', options))
  const wrong: Readonly<Record<string, unknown>> = {
    'RSA of 1,024 bits': create({ modulusLength: 1_024 }),
    'RSA of 2,047 bits': create({ modulusLength: 2_047 }),
    'RSA with the exponent 3': create({ modulusLength: 2_048, publicExponent: 3 }),
    'RSA with the exponent 65,535': { ...jwkOf(rsa), e: '__8' },
    'a private key': rsa.privateKey.export({ format: 'jwk' }),
    'a shared secret': { kty: 'oct', k: 'c2VjcmV0' },
    'a key for encryption': { ...jwkOf(rsa), use: 'enc' },
    'a key for signing': { ...jwkOf(rsa), key_ops: ['sign'] },
    'a key for HS256': { ...jwkOf(rsa), alg: 'HS256' },
    'a key for none': { ...jwkOf(rsa), alg: 'none' },
    'another curve': jwkOf(generateKeyPairSync('ec', { namedCurve: 'secp256k1' })),
    'a point that is not on its curve': { ...jwkOf(pairOf('ES256')), x: 'AQ' },
    'no modulus': { kty: 'RSA', e: 'AQAB' },
    'no type': {},
    null: null,
    'a string': 'key',
  }
  for (const [name, jwk] of Object.entries(wrong)) t.same(await algorithmsOf(jwk), [], name)
  const mixed = await readKeys({ keys: [...Object.values(wrong), jwkOf(rsa)] }, ['RS256'])
  t.equal(mixed.length, 1, 'a usable key beside them is read')
  t.same(await readKeys({ keys: {} }, ['RS256']), [])
})

t.test('issuer and times are verified, and only what JSON can mean in one way', async (t) => {
  const header = JSON.stringify({ alg: 'RS256' })
  const key = await keyFor('RS256')
  const problemOf = async (claims: object | string) => {
    const text = typeof claims === 'string' ? claims : JSON.stringify({ iss: issuer, ...claims })
    return (await verifyToken(signText(header, text), key, expected)).problem
  }
  const at = Math.floor(now / 1_000)
  t.equal(await problemOf({ exp }), undefined)
  t.equal(await problemOf({ exp, iss: [issuer] }), 'issuer')
  t.equal(await problemOf({ exp, iss: 'https://idp.example.org' }), 'issuer')
  t.equal(await problemOf({}), 'claim exp')
  t.equal(await problemOf({ exp: String(exp) }), 'claim exp')
  t.equal(await problemOf(`{"iss":"${issuer}","exp":1e999}`), 'claim exp')
  t.equal(await problemOf({ exp: at - 30 }), 'expired')
  t.equal(await problemOf({ exp: at - 29 }), undefined)
  t.equal(await problemOf({ exp, nbf: at + 31 }), 'claim nbf')
  t.equal(await problemOf({ exp, nbf: at + 30 }), undefined)
  t.equal(await problemOf({ exp, nbf: String(at) }), 'claim nbf')
  t.equal(await problemOf(`[${exp}]`), 'malformed token')
  const last = `{"iss":"https://idp.example.org","exp":${exp},"iss":"${issuer}"}`
  t.equal(await problemOf(last), undefined, 'of two members, the last counts')
  t.equal(readJwt(signText(header, last))?.claims()?.['iss'], issuer, 'here as well')
})

t.test('extensions of the header are refused', async (t) => {
  const key = await keyFor('RS256')
  const claims = JSON.stringify({ iss: issuer, exp })
  for (const more of [
    '"b64":false,"crit":["b64"]',
    '"b64":true,"crit":["b64"]',
    '"crit":["exp"]',
  ]) {
    t.equal(readJwt(signText(`{"alg":"RS256",${more}}`, claims)), undefined, more)
  }
  const plain = `${Buffer.from('{"alg":"RS256","b64":false,"crit":["b64"]}').toString('base64url')}`
  const signature = sign('sha256', Buffer.from(`${plain}.${claims}`), rsa.privateKey)
  const token = `${plain}.${claims}.${signature.toString('base64url')}`
  t.match(await verifyToken(token, key, expected), { problem: 'malformed token' })
})

t.test('canonical base64url is what encoding its bytes gives again', (t) => {
  const letters = fc.constantFrom(...'ABCDEFGHQRSTUVYZabcdghklopstwxyz0123456789-_+/= \n')
  const texts = fc.array(letters, { minLength: 0, maxLength: 9 }).map((all) => all.join(''))
  const isSame = (text: string) =>
    text !== '' && Buffer.from(text, 'base64url').toString('base64url') === text
  fc.assert(
    fc.property(texts, (text) => isCanonical(text) === isSame(text)),
    { numRuns: 20_000 },
  )
  t.end()
})
