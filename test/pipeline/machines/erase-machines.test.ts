import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { judgeMachines } from '../../../infra/checks/erasures.js'
import { forgetMachine } from '../../../pipeline/machine.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { sweepMachine } from '../../../pipeline/steps/sweep.js'
import { createFolder } from '../../rig/folder.js'
import { createLineOn, type LineByHand } from '../by-hand.js'
import { migratedStore } from '../customers/registering.js'
import { createErasing } from '../steps/erasing.js'

const store = await migratedStore(t)
const here = createLineOn(store, createFolder(t))
const away = createLineOn(store, createFolder(t))
const { known, terminate } = createErasing(here)
for (const { context } of [here, away]) await sweepMachine(context)

const header = '"Line","Column","Code","Detail","Row"\n'

/** What the rejects files of a machine have, by their names. */
function rejectsOf({ context }: LineByHand): Readonly<Record<string, string>> {
  const { outbox } = context.folders
  const paths = [outbox, join(outbox, 'arrivals')].flatMap((folder) =>
    readdirSync(folder).map((name) => join(folder, name)),
  )
  const rejects = paths.filter((path) => path.endsWith('.rejects.csv'))
  return Object.fromEntries(rejects.map((path) => [path, readFileSync(path, 'utf8')]))
}

/** A file with a rejected row of the account, settled on a machine. */
async function settleOn(line: LineByHand, name: string, account: string): Promise<void> {
  const rows = [`${account},S,M,6/1/2024 1:00,1`, `${account},S,M,6/1/2024 2:00,x`]
  const arrival = await line.takeIn(name, rows)
  await reconcile(line.context, arrival)
  await settle(line.context, arrival)
  t.match(Object.values(rejectsOf(line)).join(), new RegExp(account))
}

t.test('an erasure reaches the rejects files on the disks of all machines', async (t) => {
  await known({ clientId: 'c', accountNumber: 'GONE', meterId: 'M' })
  await settleOn(here, 'DEMO_02062024_Electric.csv', 'GONE')
  await settleOn(away, 'DEMO_03062024_Electric.csv', 'GONE')
  await terminate({ account_number: 'GONE' })
  await eraseDue(here.context)
  t.same(new Set(Object.values(rejectsOf(here))), new Set([header]))

  t.match(Object.values(rejectsOf(away)).join(), /GONE/, 'it is away')
  t.match(await judgeMachines(store), {
    state: 'warning',
    detail: new RegExp(`^${away.context.machine} .*; rejects files with erased rows: 2$`),
  })
  for (const { context } of [here, away]) await sweepMachine(context)
  t.same(new Set(Object.values(rejectsOf(away))), new Set([header]))
  t.match(await judgeMachines(store), { state: 'good' })
})

t.test('nothing is asked of a machine that is forgotten', async (t) => {
  await known({ clientId: 'd', accountNumber: 'NEXT', meterId: 'N' })
  await settleOn(here, 'DEMO_04062024_Electric.csv', 'NEXT')
  await terminate({ account_number: 'NEXT' })
  await eraseDue(here.context)
  t.match(await judgeMachines(store), { state: 'warning', detail: /erased rows: 1$/ })
  await forgetMachine(store, away.context.machine)
  await sweepMachine(here.context)
  t.match(await judgeMachines(store), { state: 'good' })
})
