import { t } from 'tap'
import { type Answer, denials, render } from '../../api/answer.js'

const table = { style: 'table', unknownStatus: 401 } as const
const bare = { style: 'status', unknownStatus: 401 } as const
const denied = (denial: keyof typeof denials): Answer => ({ kind: 'denied', denial })

t.test('a refusal is 401 with its errorCode, or its status alone', async (t) => {
  const expected = {
    token: [401, 1, 401],
    unknown: [401, 1, 404],
    twoLeft: [401, 2, 401],
    oneLeft: [401, 3, 401],
    locked: [401, 4, 403],
    closed: [401, 86, 403],
  } as const
  t.same(Object.keys(denials).sort(), Object.keys(expected).sort(), 'every one of them')
  for (const [name, [status, errorCode, bareStatus]] of Object.entries(expected)) {
    const answer = denied(name as keyof typeof denials)
    t.match(render(answer, table), { status, body: JSON.stringify({ errorCode }), errorCode }, name)
    t.match(render(answer, bare), { status: bareStatus, body: '', errorCode }, name)
  }
  const asked = { style: 'table', unknownStatus: 404 } as const
  t.match(render(denied('unknown'), asked), { status: 404, body: '{"errorCode":1}' })
  t.match(render(denied('token'), asked), { status: 401 })
})

t.test(
  'a 400 names the wrong field, unless its route hides it; an outage has no body',
  async (t) => {
    const wrong: Answer = { kind: 'wrong', detail: 'macAddress is missing' }
    t.match(render(wrong, table), { status: 400, body: '{"detail":"macAddress is missing"}' })
    t.match(render(wrong, { ...bare, hidesDetail: true }), { status: 400, body: '' })
    t.match(render({ ...wrong, status: 413 }, bare), { status: 413, body: /macAddress/ })
    const outage: Answer = { kind: 'outage', reason: 'CIS_UNREACHABLE', retrySeconds: 5 }
    for (const style of [table, bare]) {
      t.match(render(outage, style), { status: 503, body: '', headers: [['Retry-After', '5']] })
    }
  },
)
