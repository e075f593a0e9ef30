import { rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { landedFolder } from '../../../pipeline/files/landing.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { createFolder as createFolderSource } from '../../../pipeline/sources/folder.js'
import { createStability, poll } from '../../../pipeline/steps/poll.js'
import { ensureLanded, receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { findObstacle } from '../../../pipeline/steps/reprocess.js'
import { settle } from '../../../pipeline/steps/settle.js'
import type { SettingsOf } from '../../../schemas/settings/source.js'
import { createFolder } from '../../rig/folder.js'
import { storyProfile } from '../../story/rig/stack.js'
import { createLineByHand } from '../by-hand.js'

const rows = ['A1,S1,M1,3/4/2026 0:00,0.5', 'A1,S1,M1,3/4/2026 1:00,0.25', '']
const text = ['AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit', ...rows].join('\n')

/** A line without the source `share`, the line with it, and a file in its folder. */
async function createLines(t: Test) {
  const { context: without } = await createLineByHand(t)
  const folder = createFolder(t)
  const share = { kind: 'folder', name: 'share', path: folder, ended: 'leave' }
  const { sources } = storyProfile({ profile: { sources: [share] } })
  const [settings] = sources as [SettingsOf<'folder'>]
  const source = createFolderSource({ ...without.folders, settings, naming: without.profile })
  const context: PipelineContext = {
    ...without,
    profile: { ...without.profile, sources },
    sources: new Map([...without.sources, ['share', source]]),
  }
  const [name, path] = ['DEMO_05032026_Electric.csv', join(folder, 'DEMO_05032026_Electric.csv')]
  writeFileSync(path, text)
  writeFileSync(`${path}.done`, '')
  const stability = createStability()
  const look = async () => {
    await poll(context, 'share', stability)
    return (await context.ledger.unfinished()).arrivals.map(({ arrival }) => arrival)
  }
  return { without, context, name, path, look }
}

t.test('a file whose source was removed is loaded when the source is restored', async (t) => {
  const { without, context, name, look } = await createLines(t)
  const [first] = (await look()) as [number]
  await receive(without, first)
  await reconcile(without, first)
  await settle(without, first)
  const reason = `the profile has no source share, which ${name} came from; restore it, or run tieline load with the file`
  t.match(await context.ledger.state(first), {
    status: 'quarantined',
    fault: 'SOURCE_REMOVED',
    reason,
  })
  const state = (await context.ledger.state(first)) as FileState
  t.equal(await findObstacle(context, state, 'retry'), reason, 'a retry has nothing to read')
  const [again = 0] = await look()
  t.ok(again > first, 'the restored source lists it as a new file')
  await receive(context, again)
  await reconcile(context, again)
  await settle(context, again)
  t.match(await context.ledger.state(again), { status: 'published', rows: { accepted: 2 } })
  t.same(await look(), [], 'once')
})

t.test('chunks that are gone with their source say so, not that the file changed', async (t) => {
  const { without, context, path, look } = await createLines(t)
  const [arrival] = (await look()) as [number]
  await receive(context, arrival)
  rmSync(landedFolder(context.folders.landing, arrival), { recursive: true })
  const state = await context.ledger.state(arrival)
  t.ok(state && statSync(path).size === state.bytes)
  if (state) await t.rejects(ensureLanded(without, state), { code: 'SOURCE_REMOVED' })
})
