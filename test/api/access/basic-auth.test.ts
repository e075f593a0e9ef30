import { scryptSync, webcrypto } from 'node:crypto'
import { t } from 'tap'
import { createAccounts } from '../../../api/access/basic-auth.js'

/** Some 30 ms of a core, so that the test is short. */
const cost = { N: 8_192, r: 8, p: 1 }
const salt = Buffer.alloc(16)
const hash = scryptSync('right', salt, 32, cost).toString('base64url')
const passwordHash = `scrypt$8192$8$1$${salt.toString('base64url')}$${hash}`
const users = ['acme', 'vendor'].map((name) => ({ name, passwordHash }))
const basic = (name: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`,
})

t.test('guessed passwords do not keep the threads that verify tokens', async (t) => {
  const accountOf = createAccounts({ users })
  t.equal(await accountOf(basic('acme', 'right')), 'acme')
  const ended: string[] = []
  const guesses = Array.from({ length: 60 }, (_, at) =>
    accountOf(basic('acme', `guess ${at}`)).finally(() => ended.push('guess')),
  )
  // On the same threads as a signature.
  await webcrypto.subtle.digest('SHA-256', Buffer.from('token')).then(() => ended.push('token'))
  t.ok(ended.indexOf('token') < 15, `a digest after ${ended.indexOf('token')} of 60 guesses`)
  t.equal(await accountOf(basic('acme', 'right')), 'acme', 'a proven account does not wait')
  t.ok(ended.length < 60)
  t.ok((await Promise.all(guesses)).every((account) => account === undefined))
})

t.test('one account takes no place of another among those that are proven', async (t) => {
  const accountOf = createAccounts({ users })
  for (const { authorization } of [basic('acme', 'right'), basic('vendor', 'right')]) {
    for (const written of [authorization, authorization.replace(/=+$/, '')]) {
      t.ok(await accountOf({ authorization: written }))
    }
  }
  let ended = 0
  const guesses = Array.from({ length: 20 }, (_, at) =>
    accountOf(basic('acme', `guess ${at}`)).finally(() => ended++),
  )
  t.equal(await accountOf(basic('vendor', 'right')), 'vendor')
  t.ok(ended < 20, 'it waits for no guess')
  await Promise.all(guesses)
})

t.test(
  'more passwords than can be checked are an overload, the same ones cost one check',
  async (t) => {
    const accountOf = createAccounts({ users, checks: { atOnce: 1, waiting: 1 } })
    const same = Array.from({ length: 40 }, () => accountOf(basic('vendor', 'right')))
    t.same(new Set(await Promise.all(same)), new Set(['vendor']))
    const others = [1, 2, 3].map((at) => accountOf(basic('acme', `guess ${at}`)))
    const outcomes = await Promise.allSettled(others)
    t.same(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'fulfilled', 'rejected'],
    )
    t.match(outcomes[2], { reason: { code: 'OVERLOAD' } })
    t.equal(await accountOf(basic('acme', 'right')), 'acme', 'later ones are checked again')
  },
)
