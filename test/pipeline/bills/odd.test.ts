import t from 'tap'
import { customerAt } from '../registering.js'
import { billRig, steady } from './rig.js'

const rig = await billRig(t)
await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,'],
  BillingCycles: ['7,2026-01-01,2026-01-31'],
})
const january = '2026-01-01T05:00:00Z'
const totals = () =>
  rig.bills(`account_number AS account, toString(start_date) AS first, toString(last_date) AS last,
    status, toString(quantity) AS quantity, toString(total) AS total`)

t.test('of a daily and a finer series of one meter the finer one counts', async (t) => {
  await rig.register(
    customerAt({ clientId: '1', accountNumber: 'Atwo', meterId: 'two', rateCode: 'FLAT' }),
  )
  await rig.read({ meter: 'two', from: january, seconds: 86_400, quantities: steady('24', 31) })
  await rig.read({ meter: 'two', from: january, quantities: steady('0.25', 2_976) })
  await rig.bill({ start: '2026-01-01' })
  t.match(await totals(), [{ account: 'Atwo', status: 'billed', quantity: '744', total: '74.4' }])
})

t.test(
  'who moves in is billed for the own days, and for no read of who was there before',
  async (t) => {
    const at = { meterId: 'moved', rateCode: 'FLAT' }
    await rig.register(customerAt({ ...at, clientId: '2', accountNumber: 'B1' }))
    await rig.read({ meter: 'moved', account: 'B1', from: january, quantities: steady('1', 960) })
    const from = '2026-01-11T05:00:00Z'
    await rig.read({ meter: 'moved', account: 'B2', from, quantities: steady('0.5', 2_016) })
    await rig.register(customerAt({ ...at, clientId: '3', accountNumber: 'B2' }))
    await rig.bill({ start: '2026-01-01' })
    t.match((await totals()).slice(0, 2), [
      { account: 'B1', first: '2026-01-01', last: '2026-01-10', quantity: '960', total: '96' },
      { account: 'B2', first: '2026-01-11', last: '2026-01-31', quantity: '1008', total: '100.8' },
    ])
  },
)

t.test(
  'reads without an account, or with one that nobody knows, are of who has the meter alone',
  async (t) => {
    for (const [at, name] of ['mixed', 'unnamed', 'unknown', 'elsewhere'].entries()) {
      const customer = { clientId: `1${at}`, accountNumber: `C-${name}`, meterId: name }
      await rig.register(customerAt({ ...customer, rateCode: 'FLAT' }))
    }
    const tenDays = { quantities: steady('1', 960) }
    const from = { first: january, second: '2026-01-11T05:00:00Z', third: '2026-01-21T05:00:00Z' }
    const mixed = { meter: 'mixed', ...tenDays }
    await rig.read({ ...mixed, account: 'C-mixed', from: from.first })
    await rig.read({ ...mixed, account: 'nobody', from: from.second })
    await rig.read({ ...mixed, account: 'C-elsewhere', from: from.third })
    await rig.read({ meter: 'unnamed', account: '', from: from.first, ...tenDays })
    const premises = { meter: 'unknown', account: 'nobody', ...tenDays }
    await rig.read({ ...premises, from: from.first })
    await rig.read({ ...premises, site: 'another', from: from.second })
    await rig.bill({ start: '2026-01-01' })
    t.same(
      (await rig.bills('account_number, status, toString(quantity) AS quantity')).filter((one) =>
        (one as { account_number: string }).account_number.startsWith('C-'),
      ),
      [
        { account_number: 'C-elsewhere', status: 'noUsage', quantity: '0' },
        { account_number: 'C-mixed', status: 'incomplete', quantity: '1920' },
        { account_number: 'C-unknown', status: 'incomplete', quantity: '960' },
        { account_number: 'C-unnamed', status: 'incomplete', quantity: '960' },
      ],
    )
  },
)
