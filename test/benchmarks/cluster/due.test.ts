import { t } from 'tap'
import { compare } from '../../../pipeline/bills/compare/compare.js'
import { billWhenDue, queueDue } from '../../../pipeline/bills/when-due.js'
import { later, lineAt } from '../../pipeline/bills/due.js'
import { billRig, steady } from '../../pipeline/bills/rig.js'
import { customerAt, profile } from '../../pipeline/customers/registering.js'
import { lag, synchronize } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { createDetour, repeat } from './moving.js'

const world = await createReplicas({ ...profile, store: { durability: 'one' } })
t.teardown(() => world.close())
const { r1, r2 } = world.stores

/** The statements that the other replica answers, and how many are left. */
let away: RegExp | undefined
let left = 0
const client = createDetour(world, (statement) => {
  const isDue = left > 0 && away?.test(statement) === true
  if (isDue) left--
  return isDue
})
const rig = await billRig(t, client.store)

const rates = (price: string) => ({
  RateCodes: ['FLAT,Flat,Flat,,'],
  RateFlat: [`FLAT,${price},2025-01-01,,`],
})
const known = (meterId: string, billingCycleId: string) => {
  const own = { clientId: meterId, accountNumber: `A${meterId}`, meterId, rateCode: 'FLAT' }
  const customer = customerAt(own)
  return rig.register({
    ...customer,
    meters: customer.meters.map((one) => ({ ...one, billingCycleId })),
  })
}
const read = (quantity: string) =>
  rig.read({
    meter: 'M7',
    from: '2026-01-01T05:00:00Z',
    seconds: 86_400,
    quantities: steady(quantity, 31),
  })
const totals = () =>
  r1.rows({ sql: `SELECT toString(total) AS total FROM projected_bill WHERE meter_id = 'M7'` })

await rig.publish({
  ...rates('0.1'),
  BillingCycles: ['7,2026-01-01,2026-01-31', '8,2026-01-01,2026-01-31'],
})
await known('M7', '7')
await read('1')

interface Beside {
  readonly table: string
  readonly away: RegExp
  /** Statements that are sent at once are answered by one server. */
  readonly times?: number
  readonly write: () => Promise<unknown>
}

/** Runs while the other replica has not what is written to one table, and answers a statement. */
async function runBeside(beside: Beside, run: () => Promise<unknown>): Promise<boolean> {
  const { write } = beside
  const tables = [beside.table]
  await synchronize(r2)
  await lag(r2, 'replication queues', { to: 'STOP', tables })
  await write()
  ;[away, left] = [beside.away, beside.times ?? 1]
  await repeat(async () => void (await run()))
  const hasMoved = left === 0
  left = 0
  await lag(r2, 'replication queues', { to: 'START', tables })
  await synchronize(r2)
  return hasMoved
}

t.test('comparisons of a cycle are kept where its tenancies have not come yet', async (t) => {
  const away = /FROM \(SELECT DISTINCT run, billing_cycle_id FROM rate_comparison_row\)/
  const write = async () => {
    await known('M8', '8')
    await compare(rig.context(), { cycleId: '8' })
  }
  const run = () => compare(rig.context(), { cycleId: '7' })
  t.ok(await runBeside({ table: 'tenancy', away, write }, run), 'it has moved')
  const found = await r1.rows({
    sql: 'SELECT DISTINCT billing_cycle_id AS cycle FROM rate_comparison ORDER BY cycle',
  })
  t.same(found, [{ cycle: '7' }, { cycle: '8' }])
})

t.test('bills are of all rates that were published before', async (t) => {
  const away = /\bFROM `?(rate_(tou|tier|flat|fixed|code)|holiday)/
  const write = () => rig.publish(rates('0.2'))
  const run = () => rig.bill({ start: '2026-01-01' })
  const beside = { table: 'rate_flat_row', away, times: 6, write }
  t.ok(await runBeside(beside, run), 'it has moved')
  t.same(await totals(), [{ total: '6.2' }])
})

/** Computes the bills that are due some minutes later. */
async function billDue(minutes: number): Promise<void> {
  const { line, queued } = lineAt(rig, later(minutes))
  await queueDue(line)
  for (const one of queued) await billWhenDue(line, one as { cycleId: string; start: string })
}

t.test('a period is due by a file whose reads have not come yet', async (t) => {
  await billDue(30)
  const away = /\b1 FROM usage_read\s+WHERE local_day BETWEEN/
  const beside = { table: 'usage_read', away, write: () => read('2') }
  t.ok(await runBeside(beside, () => billDue(60)), 'it has moved')
  await billDue(90)
  t.same(await totals(), [{ total: '12.4' }])
})
