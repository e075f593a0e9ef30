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
import { sampleCustomer, without } from '../../schemas/gateway/sample-customer.js'
import { header, openStory, until } from '../rig/stack.js'

const cis = { kind: 'rest', url: 'http://127.0.0.1:1', permanentIds: false }
const story = await openStory(t, { profile: { ingestion: 'registered', cis } })

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

const register = async (name: string, record: unknown) => {
  const path = join(story.desk, name)
  writeFileSync(path, JSON.stringify(record))
  t.match(await tieline('--home', story.home.path, 'register', path), { code: 0 })
}
const accounts = async () => {
  const rows = await story.reader.rows<{ account: string; who: string; reads: number }>({
    sql: `SELECT account_number AS account, arrayStringConcat(client_ids, '+') AS who,
        toUInt32(count()) AS reads
      FROM registered_usage GROUP BY account, who ORDER BY account`,
  })
  return rows.map(({ account, who, reads }) => `${account} ${who} ${reads}`)
}

t.test('reads of a registered premise are held, and a registration claims them', async (t) => {
  const name = 'DEMO_03032024_Electric.csv'
  const held = [0, 1].map((hour) => `910020000009,5113000001,55000001,3/2/2024 ${hour}:00,9`)
  const other = [0, 1].map((hour) => `910020000009,OTHER,99,3/2/2024 ${hour}:00,9`)
  const receipt = await story.loadBytes(name, [header, ...held, ...other, ''].join('\n'))
  t.match(receipt, { status: 'published', rows: { read: 4, accepted: 0, unregistered: 4 } })
  t.same(await accounts(), ['910020000001 7000000001 3'], 'nobody sees them')
  t.same(await story.reader.rows({ sql: 'SELECT count() AS n FROM usage' }), [{ n: '3' }])
  const customer = { clientId: '7000000009' }
  const meter = { accountNumber: '910020000009' }
  await register('later.json', sampleCustomer({ customer, meter }))
  await until(async () => (await accounts()).length > 1)
  t.same(await accounts(), ['910020000001 7000000001 3', '910020000009 7000000009 2'])
  const isHeldNoMore = async () => {
    return (await story.store.rows({ sql: 'SELECT 1 FROM held_read' })).length === 0
  }
  await until(isHeldNoMore)
})

t.test('a meter that was exchanged belongs to the account before a record lists it', async (t) => {
  const exchanged = [header, '910020000001,5113000001,NEW,3/4/2024 0:00,5', ''].join('\n')
  const receipt = await story.loadBytes('DEMO_05032024_Electric.csv', exchanged)
  t.match(receipt, { status: 'published', rows: { accepted: 1, unregistered: 0 } })
  await until(async () => (await accounts())[0] === '910020000001 7000000001 4')
  t.same(await accounts(), ['910020000001 7000000001 4', '910020000009 7000000009 2'])
})

t.test('the command requires the fields that the gateway requires', async (t) => {
  const path = join(story.desk, 'few-fields.json')
  const meter = ['customerSites', 0, 'meters', 0]
  const few = without(sampleCustomer(), [...meter, 'accountNumber'])
  const run = async (record: unknown, ...options: readonly string[]) => {
    writeFileSync(path, JSON.stringify(record))
    return tieline('--home', story.home.path, 'register', path, ...options)
  }
  t.match(await run(few), { code: 0 }, 'cis.permanentIds is false')
  const fewer = without(few, ['customerSites', 0, 'city'])
  t.match(await run(fewer), { code: 1, stderr: /customerSites\[0\]\.city is missing/ })
  t.match(await run(fewer, '--required', 'launchMinimum'), { code: 0 })
})
