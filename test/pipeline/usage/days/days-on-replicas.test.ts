import t from 'tap'
import { eraseDue } from '../../../../pipeline/steps/erase.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { buildDays } from '../../../../pipeline/usage/days/build.js'
import { createFolder } from '../../../rig/folder.js'
import { createReplicas } from '../../../rig/replicas/start.js'
import { createLineOn } from '../../by-hand.js'
import { profile } from '../../customers/registering.js'
import { createErasing } from '../../erase/erasing.js'
import { sameAsReads, sameDays } from './same-days.js'

const { stores, close } = await createReplicas(profile)
t.teardown(close)
const { r1, r2 } = stores
const line = createLineOn(r1, createFolder(t))
const { context, takeIn } = line
const { terminate } = createErasing(line)

async function load(day: string, rows: readonly string[]): Promise<void> {
  const arrival = await takeIn(`DEMO_${day}_Electric.csv`, rows)
  await reconcile(context, arrival)
  await settle(context, arrival)
}

const hours = (account: string, meter: string, quantity: number) =>
  [0, 1, 2, 3, 4].map((hour) => `${account},S,${meter},6/1/2024 ${hour}:00,${quantity + hour}`)

t.test('both replicas have the days of their reads, whichever of them stores them', async (t) => {
  await load('01062024', [...hours('A', 'M1', 1), ...hours('E', 'M2', 2)])
  await sameAsReads(t, r2, 'stale')
  await sameDays(t, r1, 'the first')
  await sameAsReads(t, r2, 'the other')
  await load('02062024', hours('A', 'M1', 7).slice(0, 2))
  t.ok(await buildDays(r2), 'after a fail-over')
  for (const store of [r1, r2]) await sameDays(t, store, 'a correction')
})

t.test('erased days are gone on both', async (t) => {
  await terminate({ account_number: 'E' })
  await eraseDue(context)
  for (const store of [r1, r2]) {
    await sameDays(t, store, 'erased')
    const left = await store.rows({
      sql: "SELECT intervals FROM usage_day_row WHERE meter_id = 'M2'",
    })
    t.same(left, [{ intervals: 0 }])
  }
})
