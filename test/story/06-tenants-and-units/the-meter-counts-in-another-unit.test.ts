/**
 * # 6.2 A meter with another unit
 *
 * What: Reads are stored as sent; `usage` converts them by the unit of the registration.
 * Why: A Wh meter that is shown as kWh is wrong by a factor of a thousand.
 * Try: Register a customer with `unitOfMeasure: Wh` and compare `usage` before and after.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { tieline } from '../../infra/command-line.js'
import { sampleCustomer } from '../../schemas/gateway/sample-customer.js'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t)

let records = 0
const register = async (clientId: string, accountNumber: string, unitOfMeasure: string) => {
  const path = join(story.desk, `customer-${records++}.json`)
  const meter = { accountNumber, unitOfMeasure }
  writeFileSync(path, JSON.stringify(sampleCustomer({ customer: { clientId }, meter })))
  const run = await tieline('--home', story.home.path, 'register', path)
  t.match(run, { code: 0 })
}
const row = (account: string, hour: number) =>
  `${account},5113000001,55000001,3/1/2024 ${hour}:00,1500`
const shown = async () => {
  const rows = await story.reader.rows<{ hour: number; shown: string }>({
    sql: `SELECT local_hour AS hour, concat(toString(quantity), ' ', unit) AS shown
      FROM usage ORDER BY hour`,
  })
  return Object.fromEntries(rows.map(({ hour, shown }) => [hour, shown]))
}

t.test("a file comes in its sender's unit, and the receipt counts as sent", async (t) => {
  const rows = [row('100', 0), row('100', 1), row('200', 2), row('200', 3)]
  const receipt = await story.loadBytes(
    'DEMO_02032024_Electric.csv',
    [header, ...rows, ''].join('\n'),
  )
  t.match(receipt, { status: 'published', quantity: { accepted: '6000' } })
  t.same(await shown(), { 0: '1500 kWh', 1: '1500 kWh', 2: '1500 kWh', 3: '1500 kWh' })
})

t.test('once the registration says Wh, usage shows kWh, at once and for all of it', async (t) => {
  await register('7000000001', '100', 'Wh')
  t.same(await shown(), { 0: '1.5 kWh', 1: '1.5 kWh', 2: '1.5 kWh', 3: '1.5 kWh' })
})

t.test('the next tenancy has a unit of its own, from its start on', async (t) => {
  await register('7000000002', '200', 'kWh')
  t.same(await shown(), { 0: '1.5 kWh', 1: '1.5 kWh', 2: '1500 kWh', 3: '1500 kWh' })
  const own = await story.reader.rows({
    sql: `SELECT client_ids, toString(sum(quantity)) AS quantity FROM registered_usage
      GROUP BY client_ids ORDER BY client_ids`,
  })
  t.same(own, [
    { client_ids: ['7000000001'], quantity: '3' },
    { client_ids: ['7000000002'], quantity: '3000' },
  ])
  const days = await story.reader.rows({
    sql: `SELECT toString(quantity) AS quantity, unit FROM usage_day`,
  })
  t.same(days, [{ quantity: '3003', unit: 'kWh' }])
})

t.test('what is written down of a correction stays as sent', async (t) => {
  const text = [header, row('100', 0).replace('1500', '1700'), ''].join('\n')
  const receipt = await story.loadBytes('DEMO_03032024_Electric.csv', text)
  t.match(receipt, { restated: { rows: 1, netQuantity: '200' } })
  t.match(await shown(), { 0: '1.7 kWh' })
})
