import { setTimeout as sleep } from 'node:timers/promises'
import { t } from 'tap'
import { createRegistrar } from '../../../api/routes/register.js'
import { type JobData, parseJob } from '../../../pipeline/queues/jobs.js'
import { Fault } from '../../../schemas/fault.js'
import type { Customer } from '../../../schemas/gateway/customer.js'
import { type Registration, toRegistration } from '../../../schemas/gateway/registration.js'

/** A register over a queue that takes its time, and what came of it. */
function rig(takes: () => Promise<void> = async () => undefined) {
  const jobs: JobData<'register'>['customers'][] = []
  const ends: string[] = []
  const failures: Fault[] = []
  const add = async (_: string, data: unknown) => {
    jobs.push((data as JobData<'register'>).customers)
    ends.push(...((data as JobData<'register'>).closed ?? []))
    await takes()
  }
  const queues = { add } as Parameters<typeof createRegistrar>[0]['queues']
  const register = createRegistrar({ queues, onFailure: (fault) => failures.push(fault) })
  return { jobs, ends, failures, register }
}

function customer(clientId: string, rateCode = 'R1', meters = 1): Registration {
  const meter = {
    meterId: `M${clientId}`,
    meterType: 'Electric',
    unitOfMeasure: 'kWh',
    rateCode,
    billingCycleId: '1',
    accountNumber: `A${clientId}`,
    isAMI: true,
  }
  const site = { externalSiteId: `S${clientId}`, meters: Array(meters).fill(meter) }
  const record = { clientId, AcctStatus: 'A', customerSites: [site] }
  return toRegistration(record as unknown as Customer)
}

t.test('customers of one moment are handed over together, each as it was last', async (t) => {
  const { jobs, register } = rig()
  for (let at = 0; at < 250; at++) register.add(customer(String(at)))
  register.add(customer('249', 'R2'))
  t.same(
    jobs.map((one) => one.length),
    [100, 100],
  )
  while (jobs.length < 3) await sleep(5)
  t.equal(jobs[2]?.length, 50)
  t.match(jobs[2]?.at(-1), { clientId: '249', meters: [{ rateCode: 'R2' }] })
  await register.close()
  t.equal(jobs.length, 3)
})

t.test('customers with many meters are handed over sooner', async (t) => {
  const { jobs, register } = rig()
  for (let at = 0; at < 5; at++) register.add(customer(String(at), 'R1', 400))
  t.same(
    jobs.map((one) => one.length),
    [3],
  )
  await register.close()
  t.equal(jobs[1]?.length, 2)
})

t.test(
  'a customer with more meters than a job carries is reported, and costs no other',
  async (t) => {
    const { jobs, failures, register } = rig()
    register.add(customer('1', 'R1', 10_001))
    register.add(customer('2', 'R1', 10_000))
    await register.close()
    t.match(failures, [{ code: 'CIS_ANSWER', message: /10001 meters/ }])
    t.equal(jobs.length, 1)
    t.match(parseJob('register', { v: 1, customers: jobs[0] }).customers, [{ clientId: '2' }])
  },
)

t.test('closing hands over what was gathered, and waits for the queue', async (t) => {
  let isTaken = false
  const { jobs, register } = rig(async () => {
    await sleep(20)
    isTaken = true
  })
  register.add(customer('1'))
  await register.close()
  t.equal(jobs.length, 1)
  t.ok(isTaken)
})

t.test('a closed account is reported once, and the latest word counts', async (t) => {
  const { jobs, ends, register } = rig()
  register.add(customer('1'))
  register.end('1')
  register.end('2')
  register.end('2')
  register.add(customer('2'))
  await register.close()
  t.match(jobs, [[{ clientId: '2' }]])
  t.same(ends, ['1'])
  register.end('1')
  await register.close()
  t.equal(jobs.length, 1, 'not again within a minute')
  register.add(customer('1'))
  register.end('1')
  await register.close()
  t.same(ends, ['1', '1'], 'unless he was registered meanwhile')
})

t.test('an unreachable queue is reported, and its limit holds', async (t) => {
  let refuse: (fault: Fault) => void = () => undefined
  const away = new Promise<void>((_, reject) => {
    refuse = reject
  })
  const { jobs, failures, register } = rig(() => away)
  for (let at = 0; at < 10_100; at++) register.add(customer(String(at)))
  t.equal(jobs.length, 100)
  t.match(failures, { length: 100, 0: { code: 'QUEUE_UNREACHABLE' } })
  refuse(new Fault('QUEUE_UNREACHABLE', 'away'))
  await register.close()
  t.equal(failures.length, 200, 'one more for each job')
  register.add(customer('again'))
  await register.close()
  t.equal(jobs.length, 101, 'the next call is handed over')
})
