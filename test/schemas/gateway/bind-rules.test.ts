import { test } from 'tap'
import { type BindRules, readBindRequest } from '../../../schemas/gateway/bind-request.js'
import { bindSettings } from '../../../schemas/settings/gateway-bind.js'

const six = '00:11:22:aa:bb:cc'
const eight = '00:11:22:aa:bb:cc:dd:ee'
const goodCode = '83FED3407A939723A5C639B26916D505C3B5'
const badCode = '83FED3407A939723A5C639B26916D505B5C3'

const read = (rules: Partial<BindRules>, more: object) => {
  const users = [
    { name: 'platform', passwordHash: `scrypt$32768$8$1$${'A'.repeat(22)}$${'A'.repeat(43)}` },
  ]
  const body = { hemProfileId: 'p', accountSlid: 's', macAddress: six, installCode: goodCode }
  return readBindRequest(
    JSON.stringify({ ...body, ...more }),
    bindSettings.parse({ users, ...rules }),
  )
}

test('eui64 says whether addresses of eight pairs are accepted as well as those of six', async (t) => {
  t.match(read({ eui64: true }, { macAddress: eight }), {
    request: { macAddress: eight.toUpperCase() },
  })
  t.match(read({ eui64: true }, { macAddress: six }), {
    request: { macAddress: six.toUpperCase() },
  })
  for (const rules of [{}, { eui64: false }]) {
    t.match(read(rules, { macAddress: eight }), { detail: /^macAddress use six pairs/ })
    t.match(read(rules, { macAddress: six }), { request: {} })
  }
  for (const macAddress of [`${six}:dd`, `${eight}:ff`]) {
    t.match(read({ eui64: true }, { macAddress }), { detail: /^macAddress / }, macAddress)
  }
})

test('installCodeCrc says what becomes of a code whose check is wrong', async (t) => {
  const wrong = { installCode: badCode }
  t.match(read({ installCodeCrc: 'enforce' }, wrong), { detail: /^installCode has a wrong check/ })
  t.match(read({ installCodeCrc: 'warn' }, wrong), { request: {}, checkFails: true })
  t.match(read({}, wrong), { request: {}, checkFails: true }, 'warn, unless it is said')
  t.match(read({ installCodeCrc: 'off' }, wrong), { request: {}, checkFails: false })
  for (const installCodeCrc of ['off', 'warn', 'enforce'] as const) {
    t.match(read({ installCodeCrc }, {}), { request: {}, checkFails: false }, installCodeCrc)
    const short = { installCode: '00'.repeat(9) }
    t.match(read({ installCodeCrc }, short), { detail: /^installCode use 6, 8, 12 or 16/ })
  }
})

test('no detail shows what was sent', async (t) => {
  for (const more of [{ macAddress: eight }, { installCode: '00'.repeat(9) }]) {
    t.notMatch(read({}, more).detail, /dd:ee|0000/i)
  }
  t.notMatch(read({ installCodeCrc: 'enforce' }, { installCode: badCode }).detail, /83FED/)
})
