import { rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import t from 'tap'
import { reportMachine } from '../../../pipeline/machine.js'
import { keptPath } from '../../../pipeline/verify/archive.js'
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
