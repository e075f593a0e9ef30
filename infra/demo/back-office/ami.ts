import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { demoCustomers } from '../customers.js'
import {
  createOfficeServer,
  type OfficeAnswer,
  type OfficeFault,
  type OfficeServer,
  type OfficeSettings,
} from './server.js'

const actionSchema = z.object({
  actionId: z.string(),
  actionCode: z.union([z.literal(0), z.literal(1)]),
  meterId: z.string(),
  macAddress: z.string(),
})

interface Meter {
  readonly isAMI: boolean
  boundTo: string | null
  pendingFor: string | null
}

/**
 * The simulated AMI head-end: `GET /locations/<slid>` (`SLID-<site>`), `GET /meters/<id>`,
 * `POST /actions`, and `GET /actions` for the ids of all actions. With the fault `late` it performs an
 * action at once and responds late, like a slow radio network; with `missing` it responds pending.
 */
export function createDemoAmi({ port, seed, count }: OfficeSettings): Promise<OfficeServer> {
  const meters = new Map<string, Meter>()
  const locations = new Map<string, string>()
  for (const customer of demoCustomers(seed, count)) {
    for (const { meterId, meterType } of customer.meters) {
      const isAMI = meterType === 'Electric'
      meters.set(meterId, { isAMI, boundTo: null, pendingFor: null })
      if (isAMI) locations.set(`SLID-${customer.externalSiteId}`, meterId)
    }
  }
  const actions: string[] = []
  const act = async (body: unknown, fault: OfficeFault): Promise<OfficeAnswer> => {
    const { actionId, actionCode, meterId, macAddress } = actionSchema.parse(body)
    const meter = meters.get(meterId)
    actions.push(actionId)
    if (fault.kind === 'refuse' || meter === undefined) return { status: 409, body: {} }
    if (fault.kind === 'missing') {
      meter.pendingFor = macAddress
      return { status: 202, body: { state: 'pending' } }
    }
    meter.boundTo = actionCode === 1 ? macAddress : null
    meter.pendingFor = null
    if (fault.kind === 'late') await sleep(fault.ms)
    return { status: 200, body: { state: 'success' } }
  }
  return createOfficeServer(port, (request, fault) => {
    const [, collection, id = ''] = request.path.split('/').map(decodeURIComponent)
    if (collection === 'actions' && request.method === 'POST') return act(request.body, fault)
    if (collection === 'actions') return { status: 200, body: { actions } }
    const meterId = collection === 'locations' ? locations.get(id) : id
    const meter = meters.get(meterId ?? '')
    if (meterId === undefined || meter === undefined) return { status: 404, body: {} }
    return { status: 200, body: { meterId, ...meter } }
  })
}
