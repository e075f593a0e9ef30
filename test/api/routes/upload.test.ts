import { t } from 'tap'
import { createIntakeRoutes } from '../../../api/routes/upload.js'
import type { Intake } from '../../../schemas/settings/intake.js'

const asked: string[] = []
const intake = {
  take: async ({ name }) => {
    asked.push(name)
    return { kind: 'arrived', arrival: 1 }
  },
  receipt: async ({ of }) => {
    asked.push(of)
    return '{}'
  },
} as Partial<Intake> as Intake
const routes = createIntakeRoutes({ intake, senderOf: async () => 'mdm' })
const digest = `sha-256=:${'A'.repeat(43)}=:`

const requestWith = (own: Readonly<Record<string, string>>) => {
  const fields = new Map(Object.entries({ 'repr-digest': digest, 'content-length': '0', ...own }))
  const request = { ...{ method: '', path: '', authorization: '', body: '' }, id: '' }
  return { ...request, field: (name: string) => fields.get(name), isMutual: true, startedAt: 0 }
}

t.test('a name is taken as its sender means it, however the path spells it', async (t) => {
  const all = requestWith({})
  for (const [rest, name] of [
    ['Reads%2004032024.csv', 'Reads 04032024.csv'],
    ['DEMO%5f04032024_Gas.csv', 'DEMO_04032024_Gas.csv'],
    ['a%2Fb', 'a/b'],
    ['100%.csv', '100%.csv'],
  ] as const) {
    for (const route of ['upload', 'receipt']) {
      const { run } = routes.find((one) => one.name === route) ?? {}
      t.match(await run?.(all, { rest, version: 'v1' }), { kind: /accepted|good/ })
      t.equal(asked.pop(), name, `${route} ${rest}`)
    }
  }
})

t.test('what an encoded body is refused for is named, before a file is in its name', async (t) => {
  for (const name of ['upload', 'push']) {
    const { run } = routes.find((one) => one.name === name) ?? {}
    const packed = requestWith({ 'content-encoding': 'gzip', 'content-type': 'text/csv' })
    const answer = await run?.(packed, { rest: 'a.csv', version: 'v1' })
    t.match(answer, {
      kind: 'wrong',
      detail: /without Content-Encoding; .* ends with \.gz or \.zip/,
    })
  }
  t.same(asked, [])
})

t.test('the SHA-256 is found among the digests of a list', async (t) => {
  const { run } = routes.find((one) => one.name === 'upload') ?? {}
  const put = async (field: string) =>
    run?.(requestWith({ 'repr-digest': field }), { rest: 'a.csv', version: 'v1' })
  const other = `sha-512=:${'A'.repeat(86)}==:`
  for (const field of [
    `${other}, ${digest}`,
    `${digest},${other}`,
    `md5=:AA==:, ${digest} , ${other}`,
  ])
    t.match(await put(field), { kind: 'accepted' }, field)
  for (const field of [other, `x${digest}`, `${digest}x`, `${other} ${digest}`])
    t.notMatch(await put(field), { kind: 'accepted' }, field)
})
