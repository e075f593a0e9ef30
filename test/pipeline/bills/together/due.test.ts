import t from 'tap'
import { billWhenDue, queueDue } from '../../../../pipeline/bills/when-due.js'
import { customerAt, publishFile } from '../../customers/registering.js'
import { later, lineAt } from '../due.js'
import { billRig, steady } from '../rig.js'

const rig = await billRig(t)
const [first, last] = ['2026-01-01', '2026-01-31']
const january = '2026-01-01T05:00:00Z'

await rig.publish({
  RateCodes: ['FLAT,Flat,Flat,,'],
  RateFlat: ['FLAT,0.1,2025-01-01,,'],
  BillingCycles: ['7', '8'].map((cycle) => `${cycle},${first},${last}`),
})
for (const [at, cycle] of ['7', '8'].entries()) {
  const customer = customerAt({
    clientId: `${at}`,
    accountNumber: `A${at}`,
    meterId: `m${at}`,
    rateCode: 'FLAT',
  })
  const meters = customer.meters.map((one) => ({ ...one, billingCycleId: cycle }))
  await rig.register({ ...customer, meters })
  const reads = { meter: `m${at}`, from: january }
  // Of two series, so that the reads are assigned one by one.
  await rig.readAll([
    { ...reads, account: `A${at}`, quantities: steady('0.25', 1_488) },
    { ...reads, account: '', from: '2026-01-16T17:00:00Z', quantities: steady('0.25', 1_488) },
  ])
}

/** Publishes the schedule of cycles once more, for another company. */
async function publishForOther(): Promise<void> {
  const arrival = 500
  await rig.store.command({
    sql: `INSERT INTO billing_cycle_row SELECT billing_cycle_id, start_date, end_date, version % 4294967296 + ${arrival} * 4294967296
      FROM billing_cycle_row`,
  })
  await rig.store.command({
    sql: `INSERT INTO schedule_version SELECT ${arrival}, feed, 'OTHER', code, first_start
      FROM schedule_version WHERE feed = 'BillingCycles'`,
  })
  await publishFile(rig.store, {
    arrival,
    feed: 'BillingCycles',
    more: { company_code: 'OTHER' },
  })
}

t.test('a cycle that the schedules of two companies have is computed once', async (t) => {
  await publishForOther()
  const { line, queued } = lineAt(rig, later(11))
  const profile = { ...line.profile, companyCodes: ['DEMO', 'OTHER'] }
  const both = { ...line, profile } as typeof line
  await queueDue(both)
  t.same(queued, [{ name: 'bill', v: 1, cycleId: '7', start: first }])
  await billWhenDue(both, { cycleId: '7', start: first })
  const runs = await rig.store.rows({
    sql: `SELECT billing_cycle_id AS cycle, count() AS runs, any(cycle_file_id) != '' AS has_file FROM bill_run GROUP BY cycle ORDER BY cycle`,
  })
  t.same(runs, [
    { cycle: '7', runs: '1', has_file: 1 },
    { cycle: '8', runs: '1', has_file: 1 },
  ])
  t.same(await rig.bills('meter_id AS meter, toString(quantity) AS quantity'), [
    { meter: 'm0', quantity: '744' },
    { meter: 'm1', quantity: '744' },
  ])
})

t.test('what has failed for all cycles is computed together afterwards', async (t) => {
  const cycles = ['7', '8']
  await rig.readAll(
    cycles.map((_, at) => ({
      meter: `m${at}`,
      account: `A${at}`,
      from: january,
      quantities: ['1'],
    })),
  )
  const broken = lineAt(rig, later(11), new Error('broken')).line
  await t.rejects(billWhenDue(broken, { cycleId: '7', start: first }), /broken/)
  const failures = () =>
    rig.store.rows({
      sql: `SELECT billing_cycle_id AS cycle, failures FROM bill_state FINAL WHERE start_date = '${first}' ORDER BY cycle`,
    })
  t.same(
    await failures(),
    cycles.map((cycle) => ({ cycle, failures: 1 })),
  )
  const { line, queued } = lineAt(rig, later(13))
  await queueDue(line)
  t.same(queued, [{ name: 'bill', v: 1, cycleId: '7', start: first }])
  await billWhenDue(line, { cycleId: '7', start: first })
  t.same(
    await failures(),
    cycles.map((cycle) => ({ cycle, failures: 0 })),
  )
  t.match(await rig.bills('toString(quantity) AS quantity'), [
    { quantity: '744.75' },
    { quantity: '744.75' },
  ])
})
