import t from 'tap'
import { register } from '../../../pipeline/customers/registrations.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { createLineByHand } from '../by-hand.js'
import { type At, customerAt, publishFile, registeringAt } from '../customers/registering.js'

const { context, arrive, takeIn } = await createLineByHand(t)
const { store } = context
const known = (...customers: readonly At[]) =>
  register(registeringAt(store), customers.map(customerAt))

const settled = () => ({ settled_at: new Date().toISOString() })

interface Termination {
  readonly account_number: string
  readonly external_site_id?: string
  readonly meter_id?: string
}

async function terminate(...rows: readonly Termination[]): Promise<void> {
  const { arrival } = await arrive('DEMO_06062024_Terminations.csv', [])
  const version = (at: number) => String(BigInt(arrival) * 2n ** 32n + BigInt(at + 2))
  const terminations = rows.map((row, at) => {
    return { ...row, termination_date: '2024-06-30', version: version(at) }
  })
  await store.insert('termination_row', terminations)
  await publishFile(store, { arrival, feed: 'Terminations', more: settled() })
}

const find = (sql: string) => store.rows({ sql })

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
  t.match(await seen(), [{ client_ids: ['e'] }])
})
