import { test } from 'tap'
import { readBindRequest } from '../../../schemas/gateway/bind-request.js'

const good = {
  hemProfileId: '5f0d2f0e-7a30-4b4e-9d7e-2b1f7c0f6a11',
  accountSlid: 'SLID-5113000000',
  macAddress: '00:11:22:aa:bb:cc',
  installCode: '83FED3407A939723A5C639B26916D505C3B5',
  actionCode: 1,
  meterId: 'M-1',
}
const rules = { eui64: false, installCodeCrc: 'warn' } as const
const read = (body: unknown, more: object = {}) =>
  readBindRequest(JSON.stringify(body), { ...rules, ...more })

test('a whole body is read, its address in capital letters', async (t) => {
  const request = { ...good, macAddress: '00:11:22:AA:BB:CC' }
  t.same(read(good), { request, checkFails: false })
  const { actionCode: _, meterId: __, ...least } = good
  t.match(read(least), { request: { actionCode: 1, meterId: undefined } })
  t.match(read({ ...good, macAddress: '00:11:22:33:44:55:66:77' }, { eui64: true }), {
    checkFails: false,
  })
  t.match(read({ ...good, macAddress: '00:11:22:33:44:55:66:77' }), {
    detail: /^macAddress use six/,
  })
})

test('whatever is wrong with a field, the field is named and its value is not', async (t) => {
  const wrong = { nothing: null, number: 47_110_815, list: ['47110815'], object: { a: '47110815' } }
  const odd = { control: '47110815\u0000', bidi: '4711\u202e0815', surrogate: '4711\ud8000815' }
  const texts = { 'empty text': '', 'long text': '47110815'.repeat(20), ...odd }
  for (const name of Object.keys(good)) {
    for (const [kind, value] of Object.entries({ ...wrong, ...texts, true: true })) {
      const { detail } = read({ ...good, [name]: value })
      t.match(detail, new RegExp(`^${name} \\S`), `${name}: ${kind}`)
      t.notMatch(detail, /47110815/)
    }
  }
  for (const name of ['hemProfileId', 'accountSlid', 'macAddress', 'installCode']) {
    t.match(read({ ...good, [name]: undefined }), { detail: `${name} is missing` })
  }
})

test('a body other than an object with these fields is refused', async (t) => {
  for (const value of [null, 1, 'text', [good], true]) {
    t.match(read(value), { detail: /^the body is not of type object/ })
  }
  for (const text of ['', '{', '{"a":1}}', '\uFEFF{}', 'undefined', `${JSON.stringify(good)}x`]) {
    t.match(readBindRequest(text, rules), { detail: 'the body is not JSON' }, text)
  }
  const more = read({ ...good, canary: 47_110_815 })
  t.match(more.request, { accountSlid: good.accountSlid }, 'an unknown field is ignored')
  t.notMatch(JSON.stringify(more), /canary|47110815/)
})
