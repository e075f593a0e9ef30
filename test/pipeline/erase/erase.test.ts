import t from 'tap'
import { judgeErasures } from '../../../infra/checks/erasures.js'
import { claimHeld, register } from '../../../pipeline/customers/registrations.js'
import { eraseDue, eraseStarted } from '../../../pipeline/steps/erase.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { someOf } from '../../rig/sample.js'
import { statementText } from '../../rig/statements/statement-text.js'
import { createLineByHand } from '../by-hand.js'
import { createConsumer } from '../customers/consumer.js'
import { customerAt, registeringAt } from '../customers/registering.js'
import { createErasing } from './erasing.js'

const line = await createLineByHand(t)
const { context, takeIn } = line
const { store } = context
const { known, terminate, load, find } = createErasing(line)

const changesAt = (meterId: string) =>
  find(`SELECT toString(local_day) AS first, toString(last_local_day) AS last, client_ids_before AS before
    FROM usage_change WHERE meter_id = '${meterId}' AND cause = 'erasure'`)

const startsAt = '2024-06-01T05:00:00Z'

t.test('who was terminated at one premise keeps the reads of the others', async (t) => {
  const consumer = createConsumer(store)
  const client = { clientId: 'c', accountNumber: 'A' }
  const premises = [
    { ...client, externalSiteId: 'S', meterId: 'M' },
    { ...client, externalSiteId: 'T', meterId: 'O' },
  ]
  const meters = premises.flatMap((one) => customerAt(one).meters)
  await register(registeringAt(store), [{ clientId: 'c', acctStatus: 'A', meters }])
  await load('DEMO_01062024', ...premises.map((one) => ({ ...one, startsAt })))
  await consumer.pull()
  await terminate({ account_number: 'A', external_site_id: 'S' })
  await eraseDue(context)
  t.match(await find('SELECT meter_id, client_ids FROM registered_usage'), [
    { meter_id: 'O', client_ids: ['c'] },
  ])
  await consumer.pull()
  t.same(await consumer.differences(), [])
  await terminate({ account_number: 'A', external_site_id: 'U' })
  await terminate({ account_number: 'A', external_site_id: 'T' })
  await eraseDue(context)
  t.same(await find('SELECT meter_id FROM registered_usage'), [])
  t.same(
    await find(
      "SELECT external_site_id AS site FROM erasure FINAL WHERE account_number = 'A' ORDER BY site",
    ),
    [{ site: 'S' }, { site: 'T' }, { site: 'U' }],
    'each premise is erased by itself',
  )
})

t.test('an erasure lists its reads where no record names the account', async (t) => {
  const consumer = createConsumer(store)
  const meter = { externalSiteId: 'V', meterId: 'P' }
  await known({ clientId: 'u', accountNumber: '', ...meter })
  const day = (on: number, accountNumber: string) => {
    return { ...meter, accountNumber, startsAt: `2024-06-0${on}T05:00:00Z` }
  }
  await load('DEMO_02062024', day(1, 'Z'), day(2, 'Y'), day(3, 'Z'), day(4, 'Y'))
  await consumer.pull()
  t.equal(consumer.rows.size, 4)
  await terminate({ account_number: 'Z' })
  await eraseDue(context)
  await consumer.pull()
  t.equal(consumer.rows.size, 2)
  t.same(await consumer.differences(), [])
  t.match(await changesAt('P'), [{ first: '2024-06-01', last: '2024-06-03', before: [] }])
})

t.test('changes do not name a client whose account was erased', async (t) => {
  const meter = { externalSiteId: 'W', meterId: 'Q' }
  await known({ clientId: 'olga', accountNumber: 'OLD', ...meter })
  await load('DEMO_03062024', { ...meter, accountNumber: 'OLD', startsAt })
  await known({ clientId: 'nina', accountNumber: 'NEW', ...meter })
  const rows = () => find("SELECT 1 FROM usage_change WHERE meter_id = 'Q'")
  const before = await rows()
  await terminate({ account_number: 'OLD' })
  await eraseDue(context)
  const naming = (client: string) =>
    find(`SELECT cause FROM usage_change
      WHERE has(client_ids_before, '${client}') OR has(client_ids_after, '${client}')`)
  t.same(await naming('olga'), [])
  t.ok((await naming('nina')).length > 0)
  t.ok((await rows()).length > before.length, 'the rows stay')
})

t.test('reads at another premise are still held for who comes there', async (t) => {
  const registered = {
    ...context,
    profile: { ...context.profile, ingestion: 'registered' as const },
  }
  const place = { accountNumber: 'E', externalSiteId: 'Y', meterId: 'R' }
  await known({ ...place, clientId: 'e', externalSiteId: 'X', meterId: 'K' })
  await known({ ...place, clientId: 'f', accountNumber: 'F' })
  await terminate({ account_number: 'E', external_site_id: 'X' })
  await eraseDue(registered)
  const arrival = await takeIn('DEMO_04062024_Electric.csv', [
    'E,Y,R,6/1/2024 1:00,1',
    'E,X,K,6/1/2024 1:00,2',
    'U,U,U,6/1/2024 1:00,3',
  ])
  await reconcile(registered, arrival)
  await settle(registered, arrival)
  const seen = () => find("SELECT client_ids FROM registered_usage WHERE meter_id = 'R'")
  t.same(await seen(), [])
  t.match(await find('SELECT external_site_id FROM held_read'), [{ external_site_id: 'Y' }])
  const at = { ...registeringAt(store), profile: registered.profile }
  await register(at, [customerAt({ ...place, clientId: 'e' })])
  await claimHeld(at)
  t.match(await seen(), [{ client_ids: ['e'] }])
})

t.test('an account stays as it is while an earlier file is not settled', async (t) => {
  const place = { accountNumber: 'WAITS', externalSiteId: 'WS', meterId: 'WM' }
  await known({ ...place, clientId: 'w' })
  const arrival = await takeIn('DEMO_05062024_Electric.csv', ['WAITS,WS,WM,6/1/2024 1:00,1'])
  await terminate({ account_number: 'WAITS' })
  await eraseStarted(context)
  const stored = () => find("SELECT 1 FROM erasure WHERE account_number = 'WAITS'")
  t.same(await stored(), [], 'only the run at night starts one')
  const { profile } = context
  const judgedOn = (day: string) => judgeErasures(store, profile, new Date(`${day}T16:00:00Z`))
  t.match(await judgedOn('2024-07-31'), { state: 'good' }, 'its first night has just passed')
  t.match(await judgedOn('2024-08-01'), {
    state: 'warning',
    detail: 'terminated accounts whose erasure is overdue and has not begun: 1',
  })
  await eraseDue(context)
  t.equal((await stored()).length, 1)
  t.match(await judgeErasures(store, profile), {
    state: 'warning',
    detail: /^accounts whose erasure is started and waits for files: 1, since \d{4}-.* UTC$/,
  })
  const tenancies = () => find("SELECT client_ids FROM tenancy FINAL WHERE meter_id = 'WM'")
  t.match(await tenancies(), [{ client_ids: ['w'] }])
  await reconcile(context, arrival)
  await settle(context, arrival)
  await eraseStarted(context)
  t.same(await tenancies(), [])
  t.match(await judgeErasures(store, profile), { state: 'good' })
})

/** Erases, with something else done before the first statement of a kind. */
async function eraseWhile(at: RegExp, meanwhile: () => Promise<unknown>): Promise<void> {
  let isDone = false
  const command: typeof store.command = async (statement, body) => {
    if (!isDone && at.test(statementText(statement))) {
      isDone = true
      await meanwhile()
    }
    return store.command(statement, body)
  }
  await eraseDue({ ...context, store: { ...store, command } })
  t.ok(isDone, `nothing is like ${at}`)
}

const moments = [
  ['reads are deleted', /ALTER TABLE `usage_read`/, 'no client'],
  ['accounts are deleted', /ALTER TABLE `account_meter`/, 'no client'],
  ['accounts are deleted', /ALTER TABLE `account_meter`/, 'its client'],
  ['tenancies are deleted', /ALTER TABLE `tenancy` DELETE/, 'its client'],
] as const
for (const [index, [moment, at, before]] of someOf([...moments.entries()], 2)) {
  t.test(
    `no erased account is named that had ${before} where the next comes as ${moment}`,
    async (t) => {
      const meter = { externalSiteId: `S${index}`, meterId: `M${index}` }
      const gone = { ...meter, accountNumber: `GONE${index}` }
      const next = { ...meter, accountNumber: `NEXT${index}` }
      if (before === 'its client') await known({ ...gone, clientId: `g${index}` })
      await load(
        `DEMO_0${index + 1}072024`,
        { ...gone, startsAt },
        { ...next, startsAt: '2024-07-01T05:00:00Z' },
      )
      await terminate({ account_number: gone.accountNumber })
      await eraseWhile(at, () => known({ ...next, clientId: `n${index}` }))
      for (const table of ['tenancy', 'account_meter', 'registration_fact', 'usage_read']) {
        const rows = await find(`SELECT * FROM ${table}`)
        const text = JSON.stringify(rows)
        t.notOk(text.includes(gone.accountNumber) || text.includes(`"g${index}"`), table)
      }
      t.match(
        await find(`SELECT client_ids FROM registered_usage WHERE meter_id = '${meter.meterId}'`),
        [{ client_ids: [`n${index}`] }],
      )
    },
  )
}
