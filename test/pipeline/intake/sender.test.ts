import { t } from 'tap'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { submitted } from '../../../pipeline/sources/folder.js'
import { quarantineSource } from '../../../pipeline/steps/reprocess.js'
import { passwordHash } from '../../api/rig.js'
import { createGatewayStory } from '../../story/rig/gateway.js'
import { createSending, fileOf, rowsOf } from '../../story/rig/sending.js'
import { header } from '../../story/rig/stack.js'

const users = [
  ...['platform', 'mdm'].map((name) => ({ name, passwordHash })),
  { name: 'gas', passwordHash, companyCodes: ['DEMO'], feeds: ['Gas'] },
]
const gateway = await createGatewayStory(t, { profile: { intake: { users, gatherSeconds: 1 } } })
const { call, put, ended } = createSending(gateway)

t.test('senders are apart, and keep to the feeds that they are bound to', async (t) => {
  const as = (name: string) => {
    const authorization = `Basic ${Buffer.from(`${name}:a password`).toString('base64')}`
    return { headers: { authorization } }
  }
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
