import t from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { eraseDue, eraseStarted } from '../../../pipeline/steps/erase.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { sql } from '../../../pipeline/store/sql.js'
import { countRowsByArrival } from '../../../pipeline/verify/count.js'
import { recordFeedOf } from '../../../schemas/feed.js'
import type { RecordFeed } from '../../../schemas/record-feed.js'
import { createLineByHand } from '../by-hand.js'
import { createErasing } from '../erase/erasing.js'
import { createMeters } from '../usage/lengths/meters.js'
import { createRepairing } from '../usage/lengths/repairing.js'

const line = await createLineByHand(t)
const { store, ledger } = line.context
const { name, enter } = createMeters(line)

const registered: PipelineContext = {
  ...line.context,
  profile: { ...line.context.profile, ingestion: 'registered' },
}

type Feed = 'Invoices' | 'Terminations'

const headerOf = (feed: Feed) => (recordFeedOf(feed) as RecordFeed).columns.join()

const takeIn = (feed: Feed, rows: readonly string[]) =>
  line.takeIn(name(feed), rows, headerOf(feed))

async function decide(arrival: number, own = registered): Promise<FileState> {
  await reconcile(own, arrival)
  await settle(own, arrival)
  return (await ledger.state(arrival)) as FileState
}

const send = async (feed: Feed, rows: readonly string[], own = registered) =>
  decide(await takeIn(feed, rows), own)

const invoiced = (account: string, invoice: string, at: number, amount = 5) =>
  `${account},${invoice},2024-06-01,,${at},Energy,Energy,${amount}`

async function linesOf(invoice: string): Promise<readonly string[]> {
  const rows = await store.rows<{ found: string }>({
    sql: sql`SELECT concat(account_number, ' ', toString(line_number), ' ', toString(amount)) AS found
      FROM invoice_line WHERE invoice_number = ${invoice} ORDER BY line_number`,
  })
  return rows.map(({ found }) => found)
}

/** The accounts of lines before and after they were corrected, the earliest correction first. */
const restatedIn = (invoice: string) =>
  store.rows({
    sql: sql`SELECT old['account_number'] AS old, new['account_number'] AS new
      FROM invoice_line_restatement WHERE invoice_number = ${invoice} ORDER BY published_seq`,
  })

t.test(
  'a line of an invoice that is moved to an account of nobody leaves its client',
  async (t) => {
    await enter(['M'], ['A'])
    await send('Invoices', [invoiced('A', 'I', 1), invoiced('A', 'I', 2)])
    const late = await takeIn('Invoices', [invoiced('A', 'I', 1, 7), invoiced('A', 'I', 3, 7)])
    const state = await send('Invoices', [invoiced('X', 'I', 1)])
    t.match(state, { rows: { read: 1, accepted: 0, unregistered: 1 }, notes: { ended: 1 } })
    t.match(state.notes.warnings?.join(), 'no client sees them since')
    t.same(await linesOf('I'), ['A 2 5'])
    t.same(await restatedIn('I'), [{ old: 'A', new: '' }])

    t.match(await decide(late), { rows: { accepted: 1, superseded: 1 } }, 'an earlier file is late')
    t.same(await linesOf('I'), ['A 2 5', 'A 3 7'])
    const again = await send('Invoices', [invoiced('X', 'I', 1), invoiced('X', 'J', 1)])
    t.match(again, { rows: { unregistered: 2 }, notes: { ended: undefined } }, 'it ends once')
    const both = await send('Invoices', [invoiced('A', 'I', 2, 6), invoiced('X', 'I', 2)])
    t.match(both, { rows: { accepted: 0, unregistered: 2 }, notes: { ended: 1 } })
    t.same(await linesOf('I'), ['A 3 7'], 'of one file the last row counts')
    const back = await send('Invoices', [invoiced('A', 'I', 1)])
    t.match(back, { rows: { accepted: 1 }, restated: { rows: 0 } })
    t.same(await linesOf('I'), ['A 1 5', 'A 3 7'], 'a later file gives it back')
    t.same((await countRowsByArrival(store)).differences, [])
  },
)

t.test('repairs bring back neither the line nor less than it ended', async (t) => {
  const { keep, lose, repairAll } = createRepairing({ ...line, context: registered })
  const keepInvoice = (...rows: readonly string[]) =>
    keep(name('Invoices'), rows, headerOf('Invoices'))
  const first = await keepInvoice(invoiced('A', 'K', 1), invoiced('A', 'K', 2))
  const moving = await keepInvoice(invoiced('X', 'K', 1))
  for (const lost of [[first], [moving], [first, moving]]) {
    await lose(`bitShiftRight(version, 32) IN (${lost.join(', ')})`, 'invoice_line_row')
    t.equal(await repairAll(t), lost.length)
    t.same(await linesOf('K'), ['A 2 5'], `arrivals ${lost.join()}`)
  }
  t.same((await countRowsByArrival(store)).differences, [])
})

t.test('so does a line that is moved to an erased account, in every mode', async (t) => {
  const { terminate } = createErasing(line)
  const own = line.context
  await enter(['O'], ['A', 'E'])
  await send('Invoices', [invoiced('A', 'L', 1), invoiced('E', 'L', 2), invoiced('A', 'L', 3)], own)
  await send('Invoices', [invoiced('E', 'L', 3)], own)
  const ahead = await takeIn('Invoices', [invoiced('A', 'P', 1)])
  await terminate({ account_number: 'E' })
  await eraseDue(own)
  const state = await send('Invoices', [invoiced('E', 'L', 1), invoiced('E', 'L', 2, 6)], own)
  t.match(state, { rows: { accepted: 0, unregistered: 2 }, notes: { ended: 1 } })
  await decide(ahead)
  await eraseStarted(own)
  const kept = await store.rows({
    sql: sql`SELECT 1 FROM invoice_line_row WHERE account_number = 'E'`,
  })
  t.same(kept, [], 'nothing of it is stored again')
  t.same(await linesOf('L'), [], 'nor do lines come back that were moved to it')
  t.same((await countRowsByArrival(store)).differences, [])
})

t.test('a termination that names no meter is of its account', async (t) => {
  await enter(['W'], ['W'])
  const rows = ['W,,,2024-06-30,moved', 'NOBODY,,,2024-06-30,moved']
  const state = await send('Terminations', rows)
  t.match(state, { rows: { read: 2, accepted: 1, unregistered: 1 } })
})
