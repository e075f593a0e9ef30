import t from 'tap'
import { register } from '../../../pipeline/customers/registrations.js'
import { failFile } from '../../../pipeline/fail-file.js'
import { gather } from '../../../pipeline/groups/gather.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { type Sql, sql } from '../../../pipeline/store/sql.js'
import { dropStaging } from '../../../pipeline/store/staging.js'
import { createFolder } from '../../rig/folder.js'
import { createLineOn, type LineByHand } from '../by-hand.js'
import { customerAt, migratedStore, registeringAt } from '../customers/registering.js'
import { type Queued, rememberJobs, runAll } from './rig.js'

const store = await migratedStore(t)

/** A day of hours of each meter, a file for each, gathered; returns the group. */
async function gatherMeters(
  { context, arrive }: LineByHand,
  queued: readonly Queued[],
  meters: readonly string[],
): Promise<number> {
  const hours = Array.from({ length: 24 }, (_, hour) => hour)
  const arrivals: number[] = []
  for (const meter of meters) {
    const rows = hours.map((hour) => `A${meter},S${meter},${meter},2/1/2026 ${hour}:00,1.5`)
    arrivals.push((await arrive(`DEMO_02022026_Electric_${meter}.csv`, rows)).arrival)
  }
  await gather(context, arrivals)
  const [job] = queued
  return job?.arrival as number
}

async function statesOf({ context }: LineByHand, meters: readonly string[]) {
  const names = sql`file_name IN ${meters.map((meter) => `DEMO_02022026_Electric_${meter}.csv`)}`
  return context.store.rows({
    sql: sql`SELECT status, rows_accepted, settled_at IS NOT NULL AS settled FROM file_state FINAL
      WHERE ${names} ORDER BY arrival`,
  })
}

async function countReads(meters: readonly string[]): Promise<number> {
  const where: Sql = sql`meter_id IN ${meters}`
  const [row] = await store.rows<{ rows: string }>({
    sql: sql`SELECT count() AS rows FROM usage_read FINAL WHERE ${where}`,
  })
  return Number(row?.rows)
}

t.test('files whose common staging is gone before the verdict are loaded one by one', async (t) => {
  const meters = ['11', '12']
  const line = createLineOn(store, createFolder(t))
  const queued = rememberJobs(line)
  await dropStaging(store, await gatherMeters(line, queued, meters))
  await runAll(line, queued)
  const published = { status: 'published', rows_accepted: '24', settled: 1 }
  t.match(await statesOf(line, meters), [published, published])
  t.equal(await countReads(meters), 48)
})

t.test(
  'a group that readers may see is completed, also if its first file has no rows',
  async (t) => {
    const meters = ['21', '22']
    const known = customerAt({
      clientId: '7',
      accountNumber: 'A22',
      meterId: '22',
      externalSiteId: 'S22',
    })
    await register(registeringAt(store), [known])
    const line = createLineOn(store, createFolder(t))
    const queued = rememberJobs(line)
    const profile = { ...line.context.profile, ingestion: 'registered' as const }
    const context = { ...line.context, profile }
    const group = await gatherMeters(line, queued, meters)
    const broken = new Error('no number')
    const dying: Store = {
      ...store,
      insert: (table, ...rest) =>
        table === 'publication' ? Promise.reject(broken) : store.insert(table, ...rest),
    }
    const ledger = createLedger(dying, context.now)
    await t.rejects(reconcile({ ...context, store: dying, ledger }, group), broken)
    t.equal(await countReads(meters), 24, 'the rows of the second file can be seen')
    await failFile(context, { job: 'reconcile', arrival: group }, broken)
    t.match(await statesOf(line, meters), [
      { status: 'published', rows_accepted: '0' },
      { status: 'published', rows_accepted: '24' },
    ])
  },
)
