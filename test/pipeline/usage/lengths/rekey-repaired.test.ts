import { copyFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { register } from '../../../../pipeline/customers/registrations.js'
import { receive } from '../../../../pipeline/steps/receive.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { keptPath } from '../../../../pipeline/verify/archive.js'
import { orderRepair } from '../../../../pipeline/verify/repair.js'
import { verify } from '../../../../pipeline/verify/verify.js'
import { createLineByHand } from '../../by-hand.js'
import { createConsumer } from '../../customers/consumer.js'
import { customerAt, registeringAt } from '../../customers/registering.js'
import { createMeters, hourly, row, wholeDay } from './meters.js'

const line = await createLineByHand(t)
const { context } = line
const { store, folders } = context
const { name, series, seriesAt, isSound } = createMeters(line)

async function complete(arrival: number) {
  await receive(context, arrival)
  await reconcile(context, arrival)
  await settle(context, arrival)
}

/** Takes a file in that is kept in the archive. */
async function load(rows: readonly string[]) {
  const fileName = name()
  const { arrival, path } = await line.arrive(fileName, rows)
  await complete(arrival)
  copyFileSync(path, keptPath(folders.archive, { arrival, fileName }))
  return arrival
}

async function repairAll(t: Test) {
  const { damage } = await verify(context, { files: false, lookMs: 1 })
  const lost = damage.filter(({ kind }) => kind === 'rows').map(({ arrival }) => arrival)
  for (const arrival of lost.sort((one, other) => one - other)) {
    const found = await orderRepair(context, { who: 'ann', via: 'command' }, arrival)
    if ('obstacle' in found) throw new Error(found.obstacle)
    await complete(found.arrival)
    const state = await context.ledger.state(found.arrival)
    t.match(state, { status: 'published' }, `repair of ${arrival}`)
  }
  return lost.length
}

const lose = (where: string) =>
  store.command({
    sql: `ALTER TABLE usage_read DELETE WHERE ${where}`,
    settings: { mutations_sync: 1 },
  })

const ways = {
  'the guessed reads and what is stored of them since': ({ pushed }: Arrivals) =>
    `bitShiftRight(version, 32) = ${pushed}`,
  'the proving file': ({ proving }: Arrivals) =>
    `bitShiftRight(version, 32) = ${proving} OR change = ${proving}`,
  'reads under the new length': ({ pushed }: Arrivals) =>
    `bitShiftRight(version, 32) = ${pushed} AND NOT is_rekeyed`,
  'all of it': () => "meter_id != 'none'",
}

interface Arrivals {
  readonly pushed: number
  readonly proving: number
}

t.test('reads come back under the length that was proved', async (t) => {
  const meters = ['A', 'B', 'C']
  await register(
    registeringAt(store),
    meters.map((meterId) =>
      customerAt({
        clientId: meterId,
        accountNumber: 'A',
        externalSiteId: `S-${meterId}`,
        meterId,
      }),
    ),
  )
  const pushed = await load([...hourly('A', 1, [8], 2), ...hourly('B', 1, [8], 3)])
  await load([...hourly('A', 2, [9], 2), row('C', 1, 480, 5)])
  const known = await context.ledger.state(pushed)
  const late = Object.entries(ways).map(([what, where]) => {
    return { what, where, consumer: createConsumer(store) }
  })
  for (const { consumer } of late) await consumer.pull()
  const proving = await load([...hourly('A', 2, wholeDay, 1), ...hourly('B', 3, wholeDay, 1)])
  const all = () => Promise.all(meters.map(series))
  const before = await all()
  t.match(before[0], [
    { day: 1, seconds: 3_600, rows: 1 },
    { day: 2, seconds: 3_600, rows: 24, sum: 24 },
  ])
  const past = await seriesAt('A', known?.publishedAt)
  for (const { what, where, consumer } of late) {
    await lose(where({ pushed, proving }))
    t.notSame(await all(), before, `${what} is gone`)
    t.not(await repairAll(t), 0)
    t.same(await all(), before, `${what} is back`)
    t.same(await seriesAt('A', known?.publishedAt), past, 'and the past is as it was')
    t.equal(await repairAll(t), 0)
    await consumer.pull()
    t.same(await consumer.differences(), [], 'who pulls by number has the same')
  }
  await isSound(t)
})
