import { setTimeout as sleep } from 'node:timers/promises'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { letPass } from '../../../pipeline/queues/wait.js'
import type { Registration } from '../../../schemas/gateway/registration.js'
import type { Rig } from '../../rig.js'
import { accountBefore, movedMeter } from '../compare/sent-rows.js'
import type { PlannedFile } from '../plan.js'

/** A customer with one meter of a family of files. */
export interface ChaosCustomer {
  readonly clientId: string
  readonly accountNumber: string
  readonly externalSiteId: string
  readonly meterId: string
  /** A client who must be known before this one calls: the tenant before. */
  readonly after: string | undefined
}

export interface CustomerCalls {
  ofFamily(family: number): readonly ChaosCustomer[]
  /** Customers of whom some call was made and who are not known. */
  missing(): Promise<number>
  count(): number
  calls(): number
  close(): Promise<void>
}

const restMs = 300
const callsAtOnce = 5

/**
 * Lets customers of every family call until they are known, whatever is killed: a registration that
 * was lost with the queue comes again with the customer's next call, and so does many a one that
 * was not. Nobody calls while a worker is behind, so that the last one is known in time.
 */
export function createCustomerCalls(rig: Rig, files: readonly PlannedFile[]): CustomerCalls {
  const queues = createQueues({ redisUrl: rig.stack.redisUrl, prefix: rig.profile.database })
  let isOpen = true
  let calls = 0
  const all = () => [...new Map(files.map((file) => [file.family, file])).values()].flatMap(people)
  const known = async () => {
    const sql = 'SELECT client_id FROM registration'
    const rows = await rig.store.rows<{ client_id: string }>({ sql })
    return new Set(rows.map(({ client_id }) => client_id))
  }
  const call = async (person: ChaosCustomer) => {
    await queues.add('register', { v: 1, customers: [toCustomer(person)] })
    calls++
  }
  const turn = async () => {
    const { waiting = 0, active = 0 } = (await queues.counts()).register
    if (waiting + active >= callsAtOnce) return
    const ids = await known()
    const due = all().filter(({ clientId }) => !ids.has(clientId))
    const ready = due.filter(({ after }) => after === undefined || ids.has(after))
    const again = all().filter((_, index) => index % callsAtOnce === calls % callsAtOnce)
    const callers = [...ready, ...again.filter(({ clientId }) => ids.has(clientId))]
    for (const person of callers.slice(0, callsAtOnce)) await call(person)
  }
  const work = async () => {
    while (isOpen) {
      await sleep(restMs)
      try {
        await turn()
      } catch (error) {
        letPass(error)
      }
    }
  }
  const working = work()
  working.catch(() => undefined)
  return {
    ofFamily: (family) => all().filter((one) => one.clientId.startsWith(`${family}-`)),
    missing: async () => {
      const ids = await known()
      return all().filter(({ clientId }) => !ids.has(clientId)).length
    },
    count: () => all().length,
    calls: () => calls,
    close: async () => {
      isOpen = false
      await working
      await queues.close()
    },
  }
}

/** One alone, two who share an account, and a tenant with the one before him. */
function people({ family, usage }: PlannedFile): readonly ChaosCustomer[] {
  const at = (meter: number, client: string): ChaosCustomer => {
    const { accountNumber, externalSiteId, meterId } = usage.meters[meter] ?? nowhere
    const clientId = `${family}-${client}`
    return { clientId, accountNumber, externalSiteId, meterId, after: undefined }
  }
  const next = at(movedMeter, 'next')
  const before = { ...at(movedMeter, 'before'), accountNumber: accountBefore(next.accountNumber) }
  return [at(0, 'alone'), at(1, 'one'), at(1, 'other'), before, { ...next, after: before.clientId }]
}

const nowhere = { accountNumber: '', externalSiteId: '', meterId: '' } as const

function toCustomer({ clientId, after: _, ...place }: ChaosCustomer): Registration {
  const codes = { rateCode: 'RES', billingCycleId: '7', isAMI: true, unitOfMeasure: '' }
  return { clientId, acctStatus: 'A', meters: [{ ...place, ...codes, meterType: 'Electric' }] }
}
