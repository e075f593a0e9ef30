import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { judgeMachines } from '../../../infra/checks/erasures.js'
import { forgetMachine } from '../../../pipeline/machine.js'
import { eraseDue } from '../../../pipeline/steps/erase.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { sweepMachine } from '../../../pipeline/steps/sweep.js'
import { createFolder } from '../../rig/folder.js'
import { createLineOn, type LineByHand } from '../by-hand.js'
import { migratedStore } from '../customers/registering.js'
import { createErasing } from '../erase/erasing.js'

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

t.test('a file of a forgotten machine is refused, and holds up no erasure', async (t) => {
  const { ledger, folders } = here.context
  const later = { ...here.context, now: () => new Date(Date.now() + 2 * 86_400_000) }
  const claim = async (path: string, machine: string) => {
    const entry = { source: 'submit', name: basename(path), path, machine, force: false }
    const { size: bytes = 100, mtimeMs = 0 } = statSync(path, { throwIfNoEntry: false }) ?? {}
    return (await ledger.claim({ ...entry, bytes, modifiedMs: Math.trunc(mtimeMs) })).arrival
  }
  const refused = { status: 'quarantined', fault: 'SOURCE_CHANGED', reason: /lost is not known/ }
  await sweepMachine(away.context)
  const lost = await claim('/gone/with/its/machine/DEMO_07062024_Electric.csv', 'lost')
  const kept = await claim('/gone/DEMO_08062024_Electric.csv', away.context.machine)
  await t.rejects(receive(here.context, lost), { code: 'SOURCE_UNREACHABLE' }, 'it may start yet')
  await t.rejects(receive(later, kept), { code: 'SOURCE_UNREACHABLE' })
  await receive(later, lost)
  await reconcile(later, lost)
  t.match(await ledger.state(lost), refused)

  const folder = t.testdir({ 'DEMO_09062024_Electric.csv': fileOf('A,S,M,6/1/2024 3:00,1') })
  const landed = await claim(join(folder, 'DEMO_09062024_Electric.csv'), 'lost')
  await receive(here.context, landed)
  for (const path of [folder, join(folders.landing, String(landed))]) {
    rmSync(path, { recursive: true })
  }
  await t.rejects(reconcile(here.context, landed), { code: 'SOURCE_UNREACHABLE' })
  await reconcile(later, landed)
  t.match(await ledger.state(landed), refused, 'also where its chunks are gone with it')
})

function fileOf(row: string): string {
  return `AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit\n${row}\n`
}
