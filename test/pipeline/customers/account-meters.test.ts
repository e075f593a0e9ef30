import t from 'tap'
import { learnAccounts } from '../../../pipeline/customers/registrations.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { sql } from '../../../pipeline/store/sql.js'
import { dropStaging } from '../../../pipeline/store/staging.js'
import { createLineByHand } from '../by-hand.js'

const { context: line, takeIn } = await createLineByHand(t)
const { store } = line

let files = 0
const take = (rows: readonly string[]) => takeIn(`DEMO_05032026_Electric_${++files}.csv`, rows)
const at = (time: string, meter: string, account: string) =>
  `${account},S,${meter},3/4/2026 ${time},1`
const accountsAt = (meter: string) =>
  store.rows({
    sql: sql`SELECT account_number AS account, toString(min(first_read)) AS first, sum(changes) AS changes
      FROM account_meter WHERE meter_id = ${meter} GROUP BY account ORDER BY account`,
  })

t.test('each account of a meter is recorded with its first read, and once', async (t) => {
  const arrival = await take([
    at('0:00', 'M', 'A'),
    at('0:15', 'M', 'A'),
    at('0:30', 'M', 'B'),
    at('0:45', 'M', ''),
  ])
  await reconcile(line, arrival)
  await learnAccounts(line, await line.ledger.states([arrival]))
  const accounts = [
    { account: 'A', first: '2026-03-04 05:00:00', changes: '1' },
    { account: 'B', first: '2026-03-04 05:30:00', changes: '1' },
  ]
  t.same(await accountsAt('M'), accounts)
  await settle(line, arrival)
  t.same(await accountsAt('M'), accounts)
})

t.test('an account that only replaced rows name is not recorded', async (t) => {
  const first = await take([at('0:00', 'N', 'OLD'), at('0:15', 'N', 'NEW')])
  const second = await take([at('0:00', 'N', 'NEW')])
  for (const arrival of [second, first]) {
    await reconcile(line, arrival)
    await settle(line, arrival)
  }
  const account = { account: 'NEW', first: '2026-03-04 05:00:00', changes: '1' }
  t.same(await accountsAt('N'), [account])
})

t.test('accounts are recorded of a file that an earlier release has published', async (t) => {
  const arrival = await take([at('0:00', 'O', 'A')])
  await reconcile(line, arrival)
  await dropStaging(store, arrival)
  await settle(line, arrival)
  t.same(await accountsAt('O'), [{ account: 'A', first: '2026-03-04 05:00:00', changes: '1' }])
})

t.test(
  'more new accounts than one statement names are recorded, and no known one again',
  async (t) => {
    const meters = Array.from({ length: 1_100 }, (_, index) => `MANY${index}`)
    const countMany = () =>
      store.rows({
        sql: sql`SELECT toUInt32(count()) AS rows, toUInt32(sum(changes)) AS changes
        FROM account_meter WHERE startsWith(meter_id, 'MANY')`,
      })
    for (const time of ['0:00', '0:15']) {
      const arrival = await take(meters.map((meter) => at(time, meter, 'A')))
      await reconcile(line, arrival)
      await settle(line, arrival)
      t.same(await countMany(), [{ rows: 1_100, changes: 1_100 }])
    }
    const earlier = await take([at('0:15', 'MANY7', 'A'), '"A","S","MANY8",3/3/2026 23:45,1'])
    await reconcile(line, earlier)
    await settle(line, earlier)
    t.match(await countMany(), [{ changes: 1_101 }], 'an earlier first read is')
  },
)
