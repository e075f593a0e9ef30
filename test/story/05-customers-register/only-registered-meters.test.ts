/**
 * # 5.2 Only registered meters
 *
 * What: `ingestion: registered` stores reads of registered customers only and counts the others.
 * Why: Some utilities must not store data of people who did not ask for it.
 * Try: Set `ingestion: registered` and compare `unregistered` in the receipt.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { balance } from '../../../schemas/receipt.js'
import { tieline } from '../../infra/command-line.js'
import { sampleCustomer } from '../../schemas/gateway/sample-customer.js'
import { createStory, header } from '../rig/stack.js'

const story = await createStory({ profile: { ingestion: 'registered' } })
t.teardown(story.close)

const rows = [0, 1, 2].flatMap((hour) => [
  `910020000001,5113000001,55000001,3/1/2024 ${hour}:00,1.5`,
  `OTHER,OTHER,99,3/1/2024 ${hour}:00,2`,
])
const text = [header, ...rows, 'A,S,M,never,1', ''].join('\n')

t.test('a profile that stores only registered customers drops and counts all others', async (t) => {
  const path = join(story.desk, 'customer.json')
  writeFileSync(path, JSON.stringify(sampleCustomer()))
  const run = await tieline('--home', story.home.path, 'register', path)
  t.match(run, { code: 0 })
  const receipt = await story.loadBytes('DEMO_02032024_Electric.csv', text)
  t.match(receipt, {
    status: 'published',
    rows: { read: 7, accepted: 3, unregistered: 3, rejected: 1 },
    quantity: { read: '11.5', accepted: '4.5', unregistered: '6', rejected: '1' },
    meters: 1,
  })
  t.ok(balance(receipt))
  const found = await story.reader.rows({ sql: 'SELECT DISTINCT meter_id FROM usage' })
  t.same(found, [{ meter_id: '55000001' }])
})

t.test('a file of nobody who is known is published with nothing in it', async (t) => {
  const foreign = [header, 'A,S,98,3/1/2024 0:00,1', 'A,S,98,3/1/2024 1:00,1', ''].join('\n')
  const receipt = await story.loadBytes('DEMO_02032024_Electric_2.csv', foreign)
  t.match(receipt, { status: 'published', rows: { read: 2, accepted: 0, unregistered: 2 } })
  t.ok(balance(receipt))
})
