import t from 'tap'
import { toReceipt } from '../../../pipeline/ledger/receipt.js'
import { decide } from '../../../pipeline/steps/reconcile.js'
import { id, sql } from '../../../pipeline/store/sql.js'
import { stagingOf } from '../../../pipeline/store/staging.js'
import { type FeedName, feeds } from '../../../schemas/feed.js'
import { createLineByHand } from '../by-hand.js'
import { createContextOf, receiveFile } from '../usage/each-path.js'

const line = await createLineByHand(t)
const context = createContextOf(line)({ usage: { rejectedShareMax: 1 } })

async function load(feed: FeedName, rows: readonly string[], header = feeds[feed].columns) {
  const text = [header.join(','), ...rows, ''].join('\n')
  const state = await receiveFile(context, `DEMO_05022026_${feed}.csv`, text)
  const [decided = state] = await decide(context, [state])
  return { state: decided, receipt: toReceipt({ ...decided, status: 'published' }) }
}

const billLine = (price: string, amount = '1', quantity = '10') =>
  `A,M,2026-01-01,${price.length},Energy,Energy,${quantity},${price},${amount}`

t.test('prices keep 9 decimals; rows with rounded values are counted and noted', async (t) => {
  const { state, receipt } = await load('BillingLines', [
    billLine('0.123456789'),
    billLine('0.1234567891'),
    billLine('0.12345678900000'),
    billLine('0.1', '1.0000001'),
    billLine('0.12', '1', '10.00000049'),
    billLine(' 0.1234567899 ', 'x'),
  ])
  t.equal(receipt.roundedRows, 4)
  t.match(receipt.notes, [/^rows with rounded values: 4; 6 decimals are kept, of prices 9$/])
  const stored = await context.store.rows<{ price: string }>({
    sql: sql`SELECT toString(unit_price) AS price FROM ${id(stagingOf(state.arrival).reads)}
      ORDER BY version`,
  })
  t.same(
    stored.map(({ price }) => price),
    ['0.123456789', '0.123456789', '0.123456789', '0.1', '0.12'],
  )
})

t.test('quotes hide no rounded value, and nothing else counts as one', async (t) => {
  const quoted = (text: string) => billLine(`"${text}"`)
  const { receipt } = await load('BillingLines', [quoted('0.1234567891'), quoted('0.123456789')])
  t.equal(receipt.roundedRows, 1)
  const description = 'A,M,2026-01-01,1,Energy,version 1.23456789,1,0.1,1'
  const none = await load('BillingLines', [description])
  t.equal(none.receipt.roundedRows, 0)
  t.same(none.receipt.notes, [])
})

t.test('each price of a rate is counted, wherever its column is', async (t) => {
  const rows = {
    RateTou: 'R,Peak,0.1234567891,14,19,2026-01-01,',
    RateTiers: 'R,1,12,0.1234567891,2026-01-01,',
    RateFlat: 'R,0.1234567891,2026-01-01,',
    RateFixed: 'R,Tax,TaxPercent,Percent,4.1234567891,false,2026-01-01,',
  } as const
  for (const [feed, row] of Object.entries(rows)) {
    const header = feeds[feed as FeedName].columns.slice(0, row.split(',').length)
    const { receipt } = await load(feed as FeedName, [row], header)
    t.equal(receipt.roundedRows, 1, feed)
  }
})
