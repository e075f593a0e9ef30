import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { gather } from '../../../pipeline/groups/gather.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createLineByHand } from '../by-hand.js'
import { rememberJobs, runAll } from '../groups/rig.js'
import { zipOf } from './zip-file.js'

const columns = { meter: 'Meter', time: 'Time', quantity: 'Value' }
const { usage } = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  usage: { format: { Electric: { name: 'csv', columns } } },
})
const line = await createLineByHand(t, { usage })
const { ledger, folders } = line.context
const queued = rememberJobs(line)
const plain = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'

async function arrive(feed: string, text: string): Promise<number> {
  const stem = `DEMO_02012026_${feed}`
  const [name, path] = [`${stem}.zip`, join(folders.inbox, `${stem}.zip`)]
  writeFileSync(path, zipOf({ name: `${stem}.csv`, bytes: Buffer.from(text) }))
  const { size: bytes, mtimeMs } = statSync(path)
  const entry = { source: 'submit', name, path, bytes, force: false }
  return (await ledger.claim({ ...entry, modifiedMs: Math.trunc(mtimeMs) })).arrival
}

const files = {
  Electric: 'Meter,Time,Value\nM,2026-01-01 00:00,2\n',
  Electric_2: `${plain},Quality\nA,S,M,1/2/2026 0:00,2,E\n`,
  Gas: `${plain}\nA,S,G,1/1/2026 0:00,2\n`,
  BillingCycles: 'BillingCycleID,StartDate,EndDate\n7,2026-01-01,2026-01-31\n',
} as const

for (const [feed, text] of Object.entries(files)) {
  t.test(`a zip holds a file of any layout: ${feed}`, async (t) => {
    const arrival = await arrive(feed, text)
    queued.push({ name: 'receive', arrival })
    await runAll(line, queued)
    const state = await ledger.state(arrival)
    t.match(state, { status: 'published', rows: { read: 1, accepted: 1 } }, state?.reason ?? '')
  })
}

t.test('zips that wait together are gathered as other files are', async (t) => {
  const texts = [1, 2].map((hour) => `Meter,Time,Value\nN${hour},2026-01-03 0${hour}:00,2\n`)
  const arrivals = [
    await arrive('Electric_3', texts[0] ?? ''),
    await arrive('Electric_4', texts[1] ?? ''),
  ]
  await gather(line.context, arrivals)
  await runAll(line, queued)
  const states = await ledger.states(arrivals)
  const [first] = states
  t.not(first?.groupId, 0)
  t.match(
    states,
    arrivals.map(() => ({ status: 'published', groupId: first?.groupId })),
  )
})
