import { copyFileSync, rmSync } from 'node:fs'
import t from 'tap'
import { reportMachine } from '../../../pipeline/machine.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { orderReprocess, reprocess } from '../../../pipeline/steps/reprocess.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { keptPath } from '../../../pipeline/verify/archive.js'
import { orderRepair } from '../../../pipeline/verify/repair.js'
import { createFolder } from '../../rig/folder.js'
import { createLineByHand } from '../by-hand.js'
import { createRepairing } from '../usage/lengths/repairing.js'

const line = await createLineByHand(t)
const { context } = line
const { ledger } = context
const { keep, lose, repairAll } = createRepairing(line)
const actor = { who: 'ann', via: 'command' } as const
const hours = (meter: string) =>
  Array.from({ length: 6 }, (_, hour) => `A,S-${meter},${meter},6/1/2024 ${hour}:00,${hour}`)

async function complete(arrival: number, on = context) {
  await receive(on, arrival)
  await reconcile(on, arrival)
  await settle(on, arrival)
}

async function order(arrival: number, on: Partial<typeof context> = {}): Promise<number> {
  const found = await orderRepair({ ...context, ...on }, actor, arrival)
  if ('obstacle' in found) throw new Error(found.obstacle)
  return found.arrival
}

t.test('a retry of a refused repair is a repair', async (t) => {
  const first = await keep('DEMO_01062024_Electric.csv', hours('M1'))
  rmSync((await ledger.arrival(first))?.path ?? '')
  await lose('1')
  const { profile } = context
  const strict = {
    ...context,
    profile: { ...profile, usage: { ...profile.usage, quantityMax: 3 } },
  }
  const refused = await order(first)
  await complete(refused, strict)
  t.match(await ledger.state(refused), { status: 'quarantined' })
  await orderReprocess(context, actor, { arrival: refused, act: 'retry' })
  await reprocess(context, refused)
  t.match(await ledger.arrival(refused + 1), { repairs: first, force: true })
  await complete(refused + 1)
  t.match(await ledger.state(refused + 1), { status: 'published' })
  t.equal(await repairAll(t), 0)
})

t.test('a repair of a machine that is away is given up for one of this machine', async (t) => {
  const folder = createFolder(t)
  const folders = { ...context.folders, archive: folder }
  const name = 'DEMO_02062024_Electric.csv'
  const first = await keep(name, hours('M2'))
  copyFileSync(
    keptPath(context.folders.archive, { arrival: first, fileName: name }),
    keptPath(folder, { arrival: first, fileName: name }),
  )
  await lose("meter_id = 'M2'")
  const away = { ...context, machine: 'away', folders }
  await reportMachine(away)
  const open = await order(first, away)
  t.equal(await order(first), open, 'while that machine works, it goes on')
  rmSync(folder, { recursive: true })
  await context.store.command({
    sql: "ALTER TABLE machine DELETE WHERE machine = 'away'",
    settings: { mutations_sync: 1 },
  })
  await t.rejects(receive(context, open), { code: 'SOURCE_UNREACHABLE' })
  const own = await order(first)
  t.not(own, open)
  const reason = 'the machine of this repair is away; another machine repairs the file'
  t.match(await ledger.state(open), { status: 'replaced', reason, settledAt: Date })
  await complete(own)
  t.match(await ledger.state(own), { status: 'published' })
  t.equal(await repairAll(t), 0)
})
