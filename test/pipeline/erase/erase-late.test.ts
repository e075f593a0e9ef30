import { randomUUID } from 'node:crypto'
import t from 'tap'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { momentsOf } from '../../rig/sample.js'
import { statementText } from '../../rig/statements/statement-text.js'
import { createLineByHand } from '../by-hand.js'
import { createConsumer } from '../customers/consumer.js'
import { dyingStore } from '../dying.js'
import { createErasing } from './erasing.js'

const line = await createLineByHand(t)
const { context } = line
const { store } = context
const { known, terminate, load, find } = createErasing(line)

const tables = ['registration_fact', 'account_meter', 'tenancy', 'usage_change_row']

/** An erased account, and how a registration beside the erasure stores again what was known of it. */
async function erasedBefore(account: string, meterId: string): Promise<() => Promise<void>> {
  const rowsOf = (table: string) => find(`SELECT * FROM ${table} WHERE meter_id = '${meterId}'`)
  const place = { accountNumber: account, externalSiteId: meterId, meterId }
  await known({ ...place, clientId: `client of ${account}` })
  await load('DEMO_07062024', { ...place, startsAt: '2024-06-01T05:00:00Z' })
  const before = await Promise.all(tables.map(rowsOf))
  await terminate({ account_number: account })
  await eraseDue(context)
  return async () => {
    const once = { insert_deduplication_token: randomUUID() }
    for (const [at, table] of tables.entries()) {
      await store.insert(table, before[at] as object[], once)
    }
  }
}

/** Tables with rows that contain a text. */
async function holding(text: string): Promise<readonly string[]> {
  const rows = tables.map(async (table) => {
    const found = await find(`SELECT * FROM ${table}`)
    return JSON.stringify(found).includes(text) ? [table] : []
  })
  return (await Promise.all(rows)).flat()
}

t.test('what a registration stores late of an erased account goes with the next run', async (t) => {
  const consumer = createConsumer(store)
  const storeAgain = await erasedBefore('LATE', 'LM')
  await storeAgain()
  const [fact] = await find("SELECT * FROM registration_fact WHERE meter_id = 'LM'")
  const atMeter = (_: unknown, at: number) => ({ ...fact, meter_id: `METER-OF-A-CAMPUS-${at}` })
  await store.insert('registration_fact', Array.from({ length: 600 }, atMeter))
  await consumer.pull()
  await eraseDue(context)
  t.same(await holding('LATE'), [])
  await consumer.pull()
  t.same(await consumer.differences(), [])
})

t.test('so do bills of a run that began before the erasure', async (t) => {
  const storeAgain = await erasedBefore('BILLED', 'BM')
  await storeAgain()
  const computed = ['bill_row', 'bill_variance_row', 'rate_comparison_row']
  const row = { run: 'beside', meter_id: 'BM', external_site_id: 'BM' }
  const both = ['BILLED', 'STAYS'].map((account_number) => ({ ...row, account_number }))
  for (const table of computed) await store.insert(table, both)
  await eraseDue(context)
  for (const table of computed) {
    t.same(await find(`SELECT account_number FROM ${table}`), [{ account_number: 'STAYS' }], table)
  }
})

t.test('a tombstone counts what was deleted before a crash', async (t) => {
  const place = { accountNumber: 'COUNTED', externalSiteId: 'CM', meterId: 'CM' }
  await known({ ...place, clientId: 'client of COUNTED' })
  await load('DEMO_08072024', { ...place, startsAt: '2024-06-01T05:00:00Z' })
  await terminate({ account_number: 'COUNTED' })
  const command: typeof store.command = async (statement, body) => {
    await store.command(statement, body)
    if (statementText(statement).startsWith('ALTER TABLE `usage_read` DELETE')) {
      throw new Error('killed')
    }
  }
  await t.rejects(eraseDue({ ...context, store: { ...store, command } }), /killed/)
  await eraseDue(context)
  const counted =
    "SELECT counts['usage_read'] AS reads FROM erasure FINAL WHERE account_number = 'COUNTED' AND rank = 3"
  t.same(await find(counted), [{ reads: '1' }])
})

t.test('an erasure waits for a verdict that a clock ahead has given', async (t) => {
  const place = { accountNumber: 'AHEAD', externalSiteId: 'AM', meterId: 'AM' }
  await known({ ...place, clientId: 'client of AHEAD' })
  await load('DEMO_09072024', { ...place, startsAt: '2024-06-01T05:00:00Z' })
  const { arrival } = await line.arrive('DEMO_10072024_Electric.csv', [
    'AHEAD,AM,AM,6/2/2024 0:00,1',
  ])
  const ahead = { ...context, now: () => new Date(Date.now() + 3_600_000) }
  await receive(ahead, arrival)
  const command: typeof store.command = (statement, body) => {
    if (/^ALTER TABLE `usage_read` ATTACH/.test(statementText(statement))) throw new Error('killed')
    return store.command(statement, body)
  }
  await t.rejects(reconcile({ ...ahead, store: { ...store, command } }, arrival), /killed/)
  await terminate({ account_number: 'AHEAD' })
  await eraseDue(context)
  const ended = "SELECT rank FROM erasure FINAL WHERE account_number = 'AHEAD' AND rank = 3"
  t.same(await find(ended), [], 'the file may still bring reads')
  await reconcile(context, arrival)
  await settle(context, arrival)
  await eraseDue(context)
  t.match(await find(ended), [{ rank: 3 }])
  t.same(await find("SELECT 1 FROM usage_read WHERE account_number = 'AHEAD'"), [])
})

t.test('no crash leaves a client of an erased account', async (t) => {
  const storeAgain = await erasedBefore('DIES', 'DM')
  const isTried = momentsOf(3)
  let writes = Number.POSITIVE_INFINITY
  for (let left = 0; left < writes; left++) {
    if (!isTried(left)) continue
    await storeAgain()
    const { mortal } = dyingStore(store, { at: left + 1, when: 'before' })
    const outcome = await eraseDue({ ...context, store: mortal }).catch(String)
    if (outcome === undefined) writes = left
    await eraseDue(context)
    t.same(await holding('DIES'), [], `killed before write ${left}: ${outcome}`)
  }
  t.ok(writes > 4, `${writes} writes`)
})
