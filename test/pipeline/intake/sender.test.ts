import { readdirSync } from 'node:fs'
import { t } from 'tap'
import { pushedAs } from '../../../pipeline/intake/sender.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { submitted } from '../../../pipeline/sources/folder.js'
import { quarantineSource } from '../../../pipeline/steps/reprocess.js'
import { sql } from '../../../pipeline/store/sql.js'
import { passwordHash } from '../../api/rig.js'
import { createGatewayStory } from '../../story/rig/gateway.js'
import { createSending, fileOf, rowsOf } from '../../story/rig/sending.js'
import { header, until } from '../../story/rig/stack.js'

const users = [
  ...['platform', 'mdm'].map((name) => ({ name, passwordHash })),
  { name: 'gas', passwordHash, companyCodes: ['DEMO'], feeds: ['Gas'] },
]
const profile = { companyCodes: ['DEMO', 'OTHER'], intake: { users, gatherSeconds: 1 } }
const gateway = await createGatewayStory(t, { profile })
const { call, put, push, ended, partBytes } = createSending(gateway)

const as = (name: string) => {
  const authorization = `Basic ${Buffer.from(`${name}:a password`).toString('base64')}`
  return { headers: { authorization } }
}

t.test(
  'senders are apart, and keep to the companies and feeds that they are bound to',
  async (t) => {
    const [name, text] = ['DEMO_08032024_Electric.csv', fileOf(7)]
    const sent = await put(name, text)
    const { arrival } = JSON.parse(sent.text)
    await ended(sent.headers['location'])
    for (const of of [name, String(arrival)]) {
      t.match(await call(`files/${of}`, { method: 'GET', ...as('mdm') }), { status: 404 }, of)
      t.match(await call(`files/${of}`, { method: 'GET' }), { status: 200 }, of)
    }
    const replaced = await put(name, fileOf(7, 2), as('mdm'))
    t.match(replaced, { status: 400, text: /came from another sender or source/ })
    t.equal((await put(name, fileOf(7, 4))).status, 202, 'its own it replaces')
    const bound = await put('DEMO_09032024_Electric.csv', fileOf(8), as('gas'))
    t.match(bound, { status: 400, text: /gas may not send Electric, only Gas; see intake.users/ })
    const rows = `${[header, ...rowsOf(8, 1)].join('\n')}\n`
    const headers = { ...as('gas').headers, feed: 'Electric', 'content-type': 'text/csv' }
    const pushed = await call('usage', { method: 'POST', body: rows, headers })
    t.match(pushed, { status: 400, text: /gas may not send Electric/ })
    t.equal((await put('DEMO_09032024_Gas.csv', fileOf(8), as('gas'))).status, 202)
    const foreign = await put('OTHER_09032024_Gas.csv', fileOf(8), as('gas'))
    t.match(foreign, { status: 400, text: /gas may not send OTHER, only DEMO; see intake.users/ })
    t.equal((await put('OTHER_09032024_Gas.csv', fileOf(8))).status, 202, 'who is not bound may')
  },
)

t.test('of two senders that use a new name in the same instant one succeeds', async (t) => {
  for (let day = 11; day < 17; day++) {
    const name = `DEMO_${day}032024_Electric.csv`
    const answers = await Promise.all([
      put(name, fileOf(day)),
      put(name, fileOf(day, 2), as('mdm')),
      put(name, fileOf(day, 4), as('mdm')),
    ])
    const [own, ...others] = answers.map(({ status }) => status)
    t.same(others, own === 202 ? [400, 400] : [202, 202], `${name}: ${own}`)
    t.match(answers.find(({ status }) => status === 400)?.text, /came from another sender/)
    const refused = pushedAs({ sender: own === 202 ? 'mdm' : 'platform', name })
    const there = readdirSync(gateway.story.home.uploads)
    t.notOk(
      there.some((file) => file.endsWith(refused)),
      'what was refused is removed',
    )
  }
})

t.test('a file that an operator had loaded again is still its sender’s', async (t) => {
  const [name, text] = ['DEMO_10032024_Electric.csv', fileOf(9)]
  const sent = await put(name, text)
  await ended(sent.headers['location'])
  const ledger = createLedger(gateway.story.store, () => new Date())
  const again = { name, path: '/kept', bytes: text.length, modifiedMs: 0, force: false }
  for (const source of [quarantineSource, submitted]) await ledger.claim({ ...again, source })
  t.match(await call(`files/${name}`, { method: 'GET' }), { status: 200 })
  t.equal((await put(name, fileOf(9, 2))).status, 202)
})

t.test('an account that is withdrawn in the middle of an upload sends nothing more', async (t) => {
  const { story } = gateway
  const [name, text] = ['DEMO_23032024_Electric.csv', fileOf(23, 4_000)]
  await t.rejects(put(name, text, { ...as('mdm'), cutAfter: 60_000 }))
  const [row = ''] = rowsOf(24, 1)
  const headers = { ...as('mdm').headers, 'content-type': 'text/csv' }
  const pushed = await push(`${header}\n${row}\n`, headers)
  t.equal(pushed.status, 202, pushed.text)
  await story.restart({ intake: { users: users.filter((user) => user.name !== 'mdm') } })
  const there = partBytes()
  t.ok(there > 0, 'a part is there until retention.stagingDays have passed')
  const rest = {
    body: text.slice(there),
    headers: {
      ...as('mdm').headers,
      'content-range': `bytes ${there}-${text.length - 1}/${text.length}`,
      'content-length': String(text.length - there),
    },
  }
  t.equal((await put(name, text, rest)).status, 401)
  t.equal((await push(`${header}\n${row}\n`, headers)).status, 401)
  t.equal(partBytes(), there)
  await until(async () => (await publishedOf(JSON.parse(pushed.text).fileName)) === 1)
  t.equal(await publishedOf(name), 0, 'rows that were acknowledged are loaded, a part is not')
  await story.restart({})
  t.equal((await put(name, text, rest)).status, 202, 'if the account returns, its upload resumes')
})

async function publishedOf(name: string): Promise<number> {
  const rows = await gateway.story.store.rows({
    sql: sql`SELECT 1 FROM file_load WHERE file_name = ${name} AND status = 'published'`,
  })
  return rows.length
}
