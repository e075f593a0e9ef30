import { copyFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { createSubmitSource } from '../../../pipeline/sources/folder.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { orderReprocess, quarantineSource, reprocess } from '../../../pipeline/steps/reprocess.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { keptPath } from '../../../pipeline/verify/archive.js'
import { createLineByHand } from '../by-hand.js'
import { createRepairing } from '../usage/lengths/repairing.js'

const actor = { who: 'ann', via: 'command' } as const

async function complete(context: PipelineContext, arrival: number) {
  await receive(context, arrival)
  await reconcile(context, arrival)
  await settle(context, arrival)
}

/** A sender that never ends the last line, and has shown it in five files. */
async function createUnended(t: Test) {
  const line = await createLineByHand(t)
  const { context } = line
  const { folders, ledger } = context
  const sources = new Map([...context.sources])
  for (const name of ['inbox', quarantineSource]) sources.set(name, createSubmitSource())
  const own = { ...context, sources }
  const send = async (day: number, on = own, kept = folders.archive) => {
    const fileName = `DEMO_${String(day).padStart(2, '0')}062024_Electric.csv`
    const path = join(folders.inbox, fileName)
    const rows = ['0.5', '1.106', '2.5'].map((one, at) => `A,S,M,6/${day}/2024 ${at}:00,${one}`)
    const text = ['AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit', ...rows].join('\n')
    writeFileSync(path, text)
    const { size: bytes, mtimeMs } = statSync(path)
    const entry = { source: 'inbox', name: fileName, path, bytes, force: false }
    const { arrival } = await ledger.claim({ ...entry, modifiedMs: Math.trunc(mtimeMs) })
    await complete(on, arrival)
    copyFileSync(path, keptPath(kept, { arrival, fileName }))
    return arrival
  }
  for (let day = 1; day <= 5; day++) await send(day)
  return { own, send, ...createRepairing({ ...line, context: own }) }
}

t.test('the last row of a sender who never ends it is brought back', async (t) => {
  const { own, send, lose, repairAll } = await createUnended(t)
  const arrival = await send(6)
  t.match((await own.ledger.state(arrival))?.rows, { accepted: 3, rejected: 0 })
  await lose(`bitShiftRight(version, 32) = ${arrival}`)
  t.equal(await repairAll(t), 1)
  t.equal(await repairAll(t), 0)
})

t.test('the last row that was rejected as perhaps cut is rejected in a repair', async (t) => {
  const { own, lose, repairAll } = await createUnended(t)
  await lose('bitShiftRight(version, 32) = 1')
  t.match((await own.ledger.state(1))?.rows, { accepted: 2, rejected: 1 })
  t.equal(await repairAll(t), 1)
})

t.test('a retry knows the habit of the sender', async (t) => {
  const { own, send } = await createUnended(t)
  const { profile, folders, ledger } = own
  const strict = { ...own, profile: { ...profile, usage: { ...profile.usage, quantityMax: 1 } } }
  let arrival = await send(6, strict, folders.quarantine)
  for (const context of [strict, own]) {
    t.match(await ledger.state(arrival), { status: 'quarantined' })
    await orderReprocess(own, actor, { arrival, act: 'retry' })
    await reprocess(own, arrival)
    const again = arrival + 1
    t.match(await ledger.arrival(again), { source: quarantineSource })
    await complete(context, again)
    const { path, fileName } = (await ledger.state(again)) ?? { path: '', fileName: '' }
    copyFileSync(path, keptPath(folders.quarantine, { arrival: again, fileName }))
    arrival = again
  }
  const { rows, status } = (await ledger.state(arrival)) ?? {}
  t.match({ rows, status }, { rows: { accepted: 3, rejected: 0 }, status: 'published' })
})
