import { rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import t from 'tap'
import type { Arrival } from '../../../pipeline/ledger/ledger.js'
import { reportMachine } from '../../../pipeline/machine.js'
import { createSubmitSource } from '../../../pipeline/sources/folder.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { keptPath, verifyKeptFiles } from '../../../pipeline/verify/archive.js'
import { orderRepair } from '../../../pipeline/verify/repair.js'
import { createFolder } from '../../rig/folder.js'
import { createLineByHand } from '../by-hand.js'
import { createRepairing } from '../usage/lengths/repairing.js'

t.test('a file that the archive lacks, or has with other bytes, is named', async (t) => {
  const line = await createLineByHand(t)
  const { context } = line
  const { keep } = createRepairing(line)
  const rows = ['E,S-M8,M8,6/1/2024 0:00,1']
  const names = ['DEMO_10062024_Electric.csv', 'DEMO_11062024_Electric.csv'] as const
  const [gone, altered] = [await keep(names[0], rows), await keep(names[1], rows)]
  for (const state of await context.ledger.states([gone, altered])) rmSync(state.path)
  const kept = (arrival: number, fileName: string) =>
    keptPath(context.folders.archive, { arrival, fileName })
  rmSync(kept(gone, names[0]))
  writeFileSync(kept(altered, names[1]), 'x')
  const ordered = (arrival: number, on: Partial<typeof context> = {}) =>
    orderRepair({ ...context, ...on }, { who: 'ann', via: 'command' }, arrival)
  for (const [arrival, name] of [
    [gone, names[0]],
    [altered, names[1]],
  ] as const) {
    t.match(await ordered(arrival), {
      obstacle: ` do not have ${name} (arrival ${arrival}); restore a backup`,
    })
  }

  await reportMachine(context)
  const folder = createFolder(t)
  const folders = { ...context.folders, archive: folder, quarantine: folder }
  t.match(await ordered(altered, { machine: 'other', folders }), {
    obstacle: `run tieline repair on ${hostname()}, which read it, or restore a backup`,
  })
})

t.test('a file that another machine keeps is not missing here', async (t) => {
  const { context, arrive } = await createLineByHand(t)
  const { arrival: given } = await arrive('DEMO_12062024_Electric.csv', [
    'F,S-M9,M9,6/1/2024 0:00,1',
  ])
  const named = await context.ledger.arrival(given)
  const { arrival } = await context.ledger.claim({ ...named, source: 'inbox' } as Arrival)
  const sources = new Map([['inbox', createSubmitSource()]])
  const own = { ...context, sources, machine: 'one' }
  for (const step of [receive, reconcile, settle]) await step(own, arrival)
  const folders = { archive: createFolder(t), quarantine: createFolder(t) }
  const found = (machine: string) => verifyKeptFiles({ ...own, folders, machine }, new Date(0))
  t.match(await found('one'), { files: 0, absent: 1 })
  t.match(await found('other'), { files: 0, absent: 0 })
})
