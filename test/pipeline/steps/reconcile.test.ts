import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { register } from '../../../pipeline/customers/registrations.js'
import { failFile } from '../../../pipeline/fail-file.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { dropStaging } from '../../../pipeline/store/staging.js'
import { Fault } from '../../../schemas/fault.js'
import { statementText } from '../../rig/statements/statement-text.js'
import { createLineByHand } from '../by-hand.js'
import { customerAt } from '../customers/registering.js'

const logged: { arrival: number; code?: string }[] = []
const log = pino({}, { write: (text: string) => void logged.push(JSON.parse(text)) })
const { context: line, arrive, takeIn } = await createLineByHand(t, { log })
const { store, ledger } = line

let files = 0
const nameOf = () => `DEMO_05032026_Electric_${++files}.csv`
const rows = (meter: string, quantity: string, account = 'A') =>
  ['0:00', '0:15'].map((time) => `${account},S,${meter},3/4/2026 ${time},${quantity}`)

const refusal = new Fault('STORE_REFUSED', 'no right to attach')

/** The line with a store on which publishing fails, before or behind the attaching. */
function failing(error: Error, behind = false): PipelineContext {
  return {
    ...line,
    store: {
      ...store,
      command: async (statement, body) => {
        if (!statementText(statement).includes('`usage_read` ATTACH PARTITION'))
          return store.command(statement, body)
        if (behind) await store.command(statement)
        throw error
      },
    },
  }
}

const quantitiesOf = (meter: string, view = 'usage') =>
  store.rows<{ quantity: string }>({
    sql: `SELECT toString(quantity) AS quantity FROM ${view} WHERE meter_id = {meter:String}`,
    parameters: { meter },
  })

t.test('a file waits for one ahead of it that is not published, and is not blamed', async (t) => {
  const first = await takeIn(nameOf(), rows('A', '1'))
  const second = await takeIn(nameOf(), [...rows('Z', '1'), 'x'])
  await t.rejects(reconcile(failing(refusal), first), refusal)
  const ahead = { code: 'FILE_AHEAD', retry: true, detail: `arrival ${second} waits for arrival 1` }
  await t.rejects(reconcile(failing(refusal), second), ahead)
  t.match(logged, [{ arrival: first, code: 'STORE_REFUSED' }])
  await t.rejects(reconcile(failing(new Error('a bug')), second), ahead, 'whatever fails there')
  const away = new Fault('STORE_UNREACHABLE', 'away')
  await t.rejects(reconcile(failing(away), second), away, 'an outage is one for both')

  await t.rejects(reconcile(failing(refusal), first), refusal)
  const recorded = await store.rows({
    sql: `SELECT l.arrival AS arrival, l.status AS status, l.waits_for AS waits_for,
        l.fault AS fault, l.reason AS reason, toUInt32(rows_accepted) AS accepted
      FROM file_load AS l
      INNER JOIN file_arrival AS a USING (arrival, status, waits_for, fault, reason)
      ORDER BY arrival`,
  })
  const blank = { waits_for: 0, fault: '', reason: '', accepted: 0 }
  const { code: fault, detail: reason } = refusal
  t.same(recorded, [
    { ...blank, arrival: first, status: 'publishing', fault, reason },
    { ...blank, arrival: second, status: 'waiting', waits_for: first },
  ])

  await reconcile(line, second)
  t.match(await ledger.state(first), { status: 'published', fault: '', reason: '' })
  t.match(await ledger.state(second), { status: 'published', rows: { rejected: 1 } })
})

t.test('a file that can never be attached is given up and lets the next one go', async (t) => {
  await reconcile(line, await takeIn(nameOf(), rows('B', '1')))
  const first = await takeIn(nameOf(), rows('B', '5'))
  const second = await takeIn(nameOf(), rows('C', '2'))
  const broken = failing(refusal)
  await t.rejects(reconcile(broken, first), refusal)
  await t.rejects(reconcile(broken, second), { code: 'FILE_AHEAD' })
  await failFile(broken, { job: 'load', arrival: first }, refusal)
  t.match(
    await ledger.state(first),
    { status: 'publishing' },
    'a load that comes late says nothing',
  )

  await failFile(broken, { job: 'reconcile', arrival: first }, refusal)
  t.match(await ledger.state(first), {
    status: 'quarantined',
    fault: 'STORE_REFUSED',
    rows: { read: 0, accepted: 0 },
    held: { rows: 2, quantity: '10' },
    restated: { rows: 0 },
  })
  const asBefore = [{ quantity: '1' }, { quantity: '1' }]
  t.same(await quantitiesOf('B'), asBefore, 'as if it had not been')
  t.same(await store.rows({ sql: `SELECT * FROM usage_restatement WHERE meter_id = 'B'` }), [])
  t.same(await quantitiesOf('B', "usage_as_of(known_at = '2100-01-01')"), asBefore)

  await reconcile(line, second)
  t.match(await ledger.state(second), { status: 'published', rows: { accepted: 2 } })
  await settle(line, first)
  t.match(await ledger.state(first), { settledAt: Date })
})

t.test('a file whose reads are attached is never refused, whatever fails after it', async (t) => {
  await reconcile(line, await takeIn(nameOf(), rows('Q', '1')))
  const arrival = await takeIn(nameOf(), rows('Q', '5'))
  await t.rejects(reconcile(failing(refusal, true), arrival), refusal)
  const corrected = [{ quantity: '5' }, { quantity: '5' }]
  t.same(await quantitiesOf('Q'), corrected, 'the attach is what readers see')
  const named = "SELECT DISTINCT file_id, published_seq FROM usage WHERE meter_id = 'Q'"
  const { fileId } = (await ledger.state(arrival)) ?? {}
  t.same(await store.rows({ sql: named }), [{ file_id: fileId, published_seq: null }])
  await store.command({ sql: 'OPTIMIZE TABLE usage_read FINAL' })
  t.same(await quantitiesOf('Q'), corrected)
  const known = "usage_as_of(known_at = '2100-01-01')"
  t.same(await quantitiesOf('Q', known), [{ quantity: '1' }, { quantity: '1' }], 'not published')

  await failFile(line, { job: 'reconcile', arrival }, refusal)
  t.match(await ledger.state(arrival), { status: 'published', fault: '', restated: { rows: 2 } })
  t.same(await quantitiesOf('Q', known), corrected)
})

t.test('of two that decide on a file at once the first verdict holds', async (t) => {
  await reconcile(line, await takeIn(nameOf(), rows('E', '1')))
  const arrival = await takeIn(nameOf(), [...rows('E', '1'), 'A,S,E,3/4/2026 0:30,1'])
  let isBeside = false
  const overtaken: PipelineContext = {
    ...line,
    store: {
      ...store,
      rows: async (statement) => {
        if (statementText(statement).includes(`FROM \`staging_${arrival}_final_`) && !isBeside) {
          isBeside = true
          await reconcile(line, arrival)
          await dropStaging(store, arrival)
        }
        return store.rows(statement)
      },
    },
  }
  await t.rejects(reconcile(overtaken, arrival), { code: 'STAGING_LOST', retry: true })
  t.ok(isBeside)
  await reconcile(line, arrival)
  t.match(await ledger.state(arrival), { status: 'published', rows: { accepted: 1 } })
})

t.test('a customer who registers while a file is decided on costs it nothing', async (t) => {
  const registered: PipelineContext = {
    ...line,
    profile: { ...line.profile, ingestion: 'registered' },
  }
  const known = (meterId: string) =>
    register(line, [customerAt({ clientId: meterId, accountNumber: meterId, meterId })])
  await known('F')
  const file = ['F', 'G', 'H'].flatMap((meter, at) => rows(meter, `${at + 1}`, meter))
  const arrival = await takeIn(nameOf(), file)
  const overtaken: PipelineContext = {
    ...registered,
    store: {
      ...store,
      command: async (statement, body) => {
        if (statementText(statement).includes(`staging_${arrival}_registered_`)) await known('G')
        return store.command(statement, body)
      },
    },
  }
  await reconcile(overtaken, arrival)
  t.match(await ledger.state(arrival), {
    status: 'published',
    rows: { read: 6, accepted: 4, unregistered: 2 },
    quantity: { read: '12', accepted: '6', unregistered: '6' },
  })
})

t.test('a cut file is refused after a day, also by a clock that was ahead', async (t) => {
  for (const [hours, status] of [
    [-23, 'waiting'],
    [-25, 'quarantined'],
    [25, 'quarantined'],
  ] as const) {
    const arrival = await takeIn(nameOf(), rows(`cut ${hours}`, '1'))
    const state = (await ledger.state(arrival)) as FileState
    const receivedAt = new Date(Date.now() + hours * 3_600_000)
    const cut = { status: 'waiting', fault: 'TRUNCATED', receivedAt } as const
    await ledger.record({ ...state, ...cut })
    await reconcile(line, arrival)
    t.match(await ledger.state(arrival), { status }, `${hours} hours`)
  }
})

t.test('a refusal that comes after the verdict does not put the file away', async (t) => {
  const arrival = await takeIn(nameOf(), rows('late', '1'))
  const queued: string[] = []
  const late: PipelineContext = {
    ...line,
    queues: { ...line.queues, add: async (name) => void queued.push(name) },
    ledger: {
      ...ledger,
      recordVerdicts: async (...verdicts) => {
        await t.rejects(reconcile(failing(new Error('killed')), arrival), /killed/)
        await ledger.recordVerdicts(...verdicts)
      },
    },
  }
  await failFile(late, { job: 'load', arrival }, refusal)
  t.same(queued, ['reconcile'], 'what the ledger holds goes on')
  await settle(line, arrival)
  t.match(await ledger.state(arrival), { status: 'publishing', settledAt: undefined })
  await reconcile(line, arrival)
  await settle(line, arrival)
  t.match(await ledger.state(arrival), { status: 'published', settledAt: Date })
})

t.test('a file that is quarantined or whose source is gone holds nobody up', async (t) => {
  const given = await takeIn(nameOf(), rows('Q', '1'))
  await failFile(line, { job: 'load', arrival: given }, new Error('a bug'))
  const unread = (await arrive(nameOf(), rows('D', '2'))).arrival
  await failFile(line, { job: 'receive', arrival: unread }, new Error('a bug'))
  const gone = await arrive(nameOf(), rows('D', '3'))
  rmSync(gone.path)
  await receive(line, gone.arrival)
  await reconcile(line, gone.arrival)
  const good = await takeIn(nameOf(), rows('D', '4'))
  await reconcile(line, good)
  t.match(await ledger.state(good), { status: 'published' })
  for (const [arrival, fault] of [
    [given, 'ATTEMPTS'],
    [unread, 'ATTEMPTS'],
    [gone.arrival, 'SOURCE_CHANGED'],
  ] as const) {
    t.match(await ledger.state(arrival), { status: 'quarantined', fault })
  }
})

t.test('the receipt under a name is that of its latest arrival', async (t) => {
  const name = nameOf()
  const [first, second] = [await takeIn(name, rows('N', '1')), await takeIn(name, rows('N', '2'))]
  for (const arrival of [first, second]) await reconcile(line, arrival)
  for (const arrival of [second, first]) await settle(line, arrival)
  const read = (path: string) => JSON.parse(readFileSync(join(line.folders.outbox, path), 'utf8'))
  t.equal(read(`arrivals/${first}-${name}.receipt.json`).quantity.read, '2')
  t.equal(read(`${name}.receipt.json`).quantity.read, '4')
})
