import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { load } from '../../../pipeline/steps/load.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createLineByHand } from '../by-hand.js'
import { zipOf } from './zip-file.js'

const columns = { meter: 'Meter', time: 'Time', quantity: 'Value' }
const { usage } = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  usage: { format: { Electric: { name: 'csv', columns } } },
})
const line = await createLineByHand(t, { usage })
const { context } = line
const plain = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'

const files = {
  Electric: 'Meter,Time,Value\nM,2026-01-01 00:00,2\n',
  Electric_2: `${plain},Quality\nA,S,M,1/2/2026 0:00,2,E\n`,
  Gas: `${plain}\nA,S,G,1/1/2026 0:00,2\n`,
  BillingCycles: 'BillingCycleID,StartDate,EndDate\n7,2026-01-01,2026-01-31\n',
} as const

for (const [feed, text] of Object.entries(files)) {
  t.test(`a zip holds a file of any layout: ${feed}`, async (t) => {
    const stem = `DEMO_02012026_${feed}`
    const path = join(context.folders.inbox, `${stem}.zip`)
    writeFileSync(path, zipOf({ name: `${stem}.csv`, bytes: Buffer.from(text) }))
    const { size: bytes, mtimeMs } = statSync(path)
    const entry = { source: 'submit', name: `${stem}.zip`, path, bytes, force: false }
    const { arrival } = await context.ledger.claim({ ...entry, modifiedMs: Math.trunc(mtimeMs) })
    await receive(context, arrival)
    for (const task of line.loads.filter((one) => one.arrival === arrival)) {
      await load(context, task)
    }
    await reconcile(context, arrival)
    const state = await context.ledger.state(arrival)
    t.match(state, { status: 'published', rows: { read: 1, accepted: 1 } }, state?.reason ?? '')
  })
}
