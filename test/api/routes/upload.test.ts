import { t } from 'tap'
import { createIntakeRoutes } from '../../../api/routes/upload.js'
import type { Intake } from '../../../schemas/settings/intake.js'

t.test('a name is taken as its sender means it, however the path spells it', async (t) => {
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
  const fields = new Map([
    ['repr-digest', `sha-256=:${'A'.repeat(43)}=:`],
    ['content-length', '0'],
  ])
  const request = { ...{ method: '', path: '', authorization: '', body: '' }, id: '' }
  const field = (name: string) => fields.get(name)
  const all = { ...request, field, isMutual: true, startedAt: 0 }
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
