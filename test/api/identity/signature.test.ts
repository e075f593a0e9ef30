import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import fc from 'fast-check'
import { jwtVerify, SignJWT } from 'jose'
import { t } from 'tap'
import { isCanonical } from '../../../api/identity/jwt.js'
import { fits, readKeys } from '../../../api/identity/key.js'
import { isSigned } from '../../../api/identity/signature.js'
import { signatureAlgorithms } from '../../../schemas/settings/gateway-identity.js'

interface Pair {
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

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

const isGoodByJose = (token: string, algorithm: string, key: KeyObject) =>
  jwtVerify(token, key, { algorithms: [algorithm] }).then(
    () => true,
    () => false,
  )

t.test('signatures are judged as jose judges them, whatever is changed in a token', async (t) => {
  for (const algorithm of signatureAlgorithms) {
    const { privateKey, publicKey } = pairOf(algorithm)
    const good = await new SignJWT({ sub: 'C-1' })
      .setProtectedHeader({ alg: algorithm })
      .sign(privateKey)
    t.ok(await isSigned(good, algorithm, publicKey), algorithm)
    const changes = fc.tuple(fc.nat(good.length - 1), fc.constantFrom(...'AQgw_-09zZ'))
    await fc.assert(
      fc.asyncProperty(changes, async ([at, letter]) => {
        const token = good.slice(0, at) + letter + good.slice(at + 1)
        const parts = token.split('.')
        if (parts.length !== 3 || !parts.every(isCanonical)) return true
        const header = Buffer.from(parts[0] ?? '', 'base64url').toString()
        if (header !== JSON.stringify({ alg: algorithm })) return true
        const ours = await isSigned(token, algorithm, publicKey)
        return (
          ours === (token === good) && ours === (await isGoodByJose(token, algorithm, publicKey))
        )
      }),
      { numRuns: 60 },
    )
  }
})

t.test('a signature of another algorithm, or of another form, is none', async (t) => {
  for (const algorithm of signatureAlgorithms) {
    const token = await new SignJWT({ sub: 'C-1' })
      .setProtectedHeader({ alg: algorithm })
      .sign(pairOf(algorithm).privateKey)
    for (const other of signatureAlgorithms) {
      const { publicKey } = pairOf(other)
      const [key] = readKeys({ keys: [publicKey.export({ format: 'jwk' })] })
      if (key === undefined || !fits(key, other) || other === algorithm) continue
      t.notOk(await isSigned(token, other, key.object), `${algorithm} read as ${other}`)
    }
    const { publicKey } = pairOf(algorithm)
    for (const name of ['none', 'HS256', 'toString', '']) {
      t.notOk(await isSigned(token, name, publicKey))
    }
    t.notOk(
      await isSigned(token.slice(0, token.lastIndexOf('.') + 1), algorithm, publicKey),
      'none at all',
    )
  }
})
