import type { Test } from 'tap'
import { createPushes, type PushOptions } from '../../../pipeline/intake/pushes.js'
import { pushedAs } from '../../../pipeline/intake/sender.js'
import { createZone } from '../../../schemas/time/zone.js'
import { createFolder } from '../../rig/folder.js'

export const header = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'
export const rowOf = (meter: number) => `A,S,M${meter},3/4/2024 0:00,1`
export const pushed = (meter: number) => {
  const text = `${header}\n${rowOf(meter)}\n`
  return { sender: 'ami', feed: 'Electric', format: 'csv', text } as const
}
/** Late in the evening of the 4th where the utility is. */
const nowMs = Date.UTC(2024, 2, 5, 4, 30)
export const stem = `DEMO_04032024_Electric_${23.5 * 3_600_000}`

export const own = (name: string) => pushedAs({ sender: 'ami', name })

/** Pushes into a folder, and the paths that were claimed there. */
export async function createRig(t: Test, more: Partial<PushOptions> = {}) {
  const folder = more.folder ?? createFolder(t)
  const claimed: string[] = []
  const failures: unknown[] = []
  const pushes = await createPushes({
    folder,
    companyCodeOf: () => 'DEMO',
    zone: createZone('America/Detroit'),
    gatherSeconds: 3_600,
    freeDiskBytesMin: 0,
    naming: { companyCodes: ['DEMO'], fileNames: [] },
    arrive: {
      claim: async (_, { path }) => {
        if (!claimed.includes(path)) claimed.push(path)
        return 1
      },
    },
    now: () => new Date(nowMs),
    onFailure: (error) => failures.push(error),
    ...more,
  })
  return { pushes, folder, claimed, failures }
}
