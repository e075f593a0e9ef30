/**
 * # 4.1 A correction arrives
 *
 * What: A later file replaces reads of an earlier one, and the earlier state can still be
 * queried.
 * Why: Bills are explained by what was known when they were computed.
 * Try: Load a file, change three values, load it again, and query `usage_restatement`.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { recordAct } from '../../../pipeline/ledger/audit.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { balance } from '../../../schemas/receipt.js'
import { follow, header, openStory, until } from '../rig/stack.js'

const story = await openStory(t)

const meters = 40
const slots = 96

/** One day of 15-minute reads; `change` may give a row another quantity. */
function day(change: (meter: number, slot: number) => string | undefined = () => undefined) {
  const rows: string[] = [header]
  for (let meter = 0; meter < meters; meter++) {
    for (let slot = 0; slot < slots; slot++) {
      const time = `${Math.floor(slot / 4)}:${['00', '15', '30', '45'][slot % 4]}`
      const quantity = change(meter, slot) ?? `0.${100 + slot}`
      rows.push(`A${meter},S${meter},M${meter},7/15/2025 ${time},${quantity}`)
    }
  }
  return `${rows.join('\n')}\n`
}

const read = async (meter: string, at: string) => {
  const rows = await story.reader.rows<Record<string, string>>({
    sql: `SELECT toString(quantity) AS quantity, published_at FROM usage
      WHERE meter_id = {meter:String} AND starts_at = {at:DateTime('UTC')}`,
    parameters: { meter, at },
  })
  return rows[0]
}

const first = await story.loadBytes('DEMO_16072025_Electric.csv', day())

t.test('a file that is sent again with three corrections publishes just these', async (t) => {
  t.match(first, { status: 'published', rows: { accepted: meters * slots, duplicate: 0 } })
  const untouched = await read('M9', '2025-07-15 04:00:00')
  const corrected = day((meter, slot) => (meter < 3 && slot === 7 ? '5.5' : undefined))
  const receipt = await story.loadBytes('DEMO_16072025_Electric_2.csv', corrected)
  t.match(receipt, {
    status: 'published',
    rows: { read: meters * slots, accepted: 3, duplicate: meters * slots - 3, superseded: 0 },
    restated: { rows: 3, netQuantity: '16.179' },
    quantity: { accepted: '16.5' },
  })
  t.ok(balance(receipt))
  t.match(await read('M1', '2025-07-15 05:45:00'), { quantity: '5.5' })
  t.same(await read('M9', '2025-07-15 04:00:00'), untouched, 'nothing else was published again')
})

t.test('what was replaced can be looked up, file by file', async (t) => {
  const rows = await story.reader.rows({
    sql: `SELECT meter_id, toString(old_quantity) AS old, toString(new_quantity) AS new,
        old_file_id != new_file_id AS other FROM usage_restatement ORDER BY meter_id`,
  })
  t.same(rows, [
    { meter_id: 'M0', old: '0.107', new: '5.5', other: 1 },
    { meter_id: 'M1', old: '0.107', new: '5.5', other: 1 },
    { meter_id: 'M2', old: '0.107', new: '5.5', other: 1 },
  ])
})

t.test('a read can be asked for as it was known at an earlier moment', async (t) => {
  const asOf = async (at: string | null | undefined) => {
    const rows = await story.reader.rows<{ quantity: string }>({
      sql: `SELECT toString(quantity) AS quantity FROM usage_as_of(known_at = {at:DateTime64(3, 'UTC')})
        WHERE meter_id = 'M1' AND starts_at = '2025-07-15 05:45:00'`,
      parameters: { at: String(at).replace('T', ' ').replace('Z', '') },
    })
    return rows.map((row) => row.quantity)
  }
  t.same(await asOf(first.publishedAt), ['0.107'])
  t.same(await asOf('2100-01-01 00:00:00.000'), ['5.5'])
  t.same(await asOf('2000-01-01 00:00:00.000'), [])
  const columnsOf = async (table: string) =>
    text(
      await story.reader.stream({ sql: `SELECT * FROM ${table} LIMIT 0` }, 'CSVWithNamesAndTypes'),
    )
  const known = await columnsOf(`usage_as_of(known_at = '2000-01-01 00:00:00')`)
  t.match(known, /"quantity".*"published_at"/)
  t.equal(known, await columnsOf('usage'), 'its columns are those of usage')
})

t.test('of two corrections that are handed over at once the later arrival wins', async (t) => {
  const earlier = join(story.desk, 'DEMO_16072025_Electric_3.csv')
  const later = join(story.desk, 'DEMO_16072025_Electric_4.csv')
  await writeFile(
    earlier,
    day((meter, slot) => (meter === 5 && slot === 0 ? '3' : undefined)),
  )
  await writeFile(
    later,
    day((meter, slot) => (meter === 5 && slot === 0 ? '4' : undefined)),
  )
  const first = await story.submission.submit(earlier)
  const second = await story.submission.submit(later)
  const receipts = [await follow(story.submission, second.arrival)]
  receipts.push(await follow(story.submission, first.arrival))
  t.ok(receipts.every((receipt) => receipt.status === 'published' && balance(receipt)))
  t.match(await read('M5', '2025-07-15 04:00:00'), { quantity: '4' })
})

t.test('of two rows with one key the last survives; equal ones are duplicates', async (t) => {
  const rows = ['A,S,X,7/15/2025 0:00,1', 'A,S,X,7/15/2025 0:15,2', 'A,S,X,7/15/2025 0:00,1']
    .concat(['A,S,X,7/15/2025 0:15,3', 'A,S,X,7/15/2025 0:30,4'])
    .join('\n')
  const receipt = await story.loadBytes('DEMO_16072025_Electric_5.csv', `${header}\n${rows}\n`)
  t.match(receipt, {
    rows: { read: 5, accepted: 3, duplicate: 1, superseded: 1 },
    quantity: { read: '11', accepted: '8', duplicate: '1', superseded: '2' },
  })
  t.match(await read('X', '2025-07-15 04:15:00'), { quantity: '3' })
})

t.test('a correction of the account alone is accepted and restates no quantity', async (t) => {
  const row = 'OTHER,S,X,7/15/2025 0:30,4\nOTHER,S,X,7/15/2025 0:45,1'
  const receipt = await story.loadBytes('DEMO_16072025_Electric_6.csv', `${header}\n${row}\n`)
  t.match(receipt, { rows: { accepted: 2 }, restated: { rows: 0, netQuantity: '0' } })
})

t.test('a refused file is never published over a newer one of its name', async (t) => {
  const name = 'DEMO_16072025_Electric_7.csv'
  const rows = Array.from({ length: 20 }, (_, at) => `A,S,R${at},7/15/2025 0:00,1`)
  const poor = rows.map((row) => row.replace(/1$/, 'n/a'))
  const text = (of: readonly string[]) => `${[header, ...of].join('\n')}\n`
  const arrivalOf = async () => {
    const sql = 'SELECT max(arrival) AS arrival FROM arrival WHERE name = {name:String}'
    const [latest] = await story.store.rows<{ arrival: number }>({ sql, parameters: { name } })
    return latest?.arrival ?? 0
  }
  await story.send(name, text([...rows, ...poor]))
  t.match(await story.receiptOf(name), { status: 'quarantined' })
  const refused = await arrivalOf()
  const accept = async () => {
    const origin = story.stack.worker.detail().operations ?? ''
    const path = `${origin}/files/${refused}/accept`
    return (await fetch(path, { method: 'POST', headers: { origin } })).json()
  }
  await story.send(name, text(rows).slice(0, -20))
  await until(async () => (await arrivalOf()) > refused)
  t.match(await accept(), { detail: /has come in since as arrival \d+, which is under way/ })
  t.match(await story.loadBytes(name, text(rows)), { status: 'published' })
  const published = await arrivalOf()

  const ann = { who: 'ann', via: 'command' } as const
  const act = { act: 'accept', subject: String(refused), detail: 'before the newer came' } as const
  await recordAct(story.store, ann, act)
  const queues = createQueues({ redisUrl: story.stack.redisUrl, prefix: 'story' })
  t.teardown(queues.close)
  await queues.add('reprocess', { v: 1, arrival: refused })
  await until(async () =>
    Object.values((await queues.counts()).reprocess).every((jobs) => jobs === 0),
  )
  t.equal(await arrivalOf(), published, 'an order that was written before is not carried out')
  t.match(await accept(), { detail: /was published since as arrival/ })
})
