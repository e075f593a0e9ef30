import type { Test } from 'tap'
import type { Cis } from '../../../api/cis/cis.js'
import { judgeCustomer } from '../../../schemas/gateway/customer.js'

/** A driver over a real system that holds the customers that the suite asks for. */
export interface Prepared {
  /** A driver that waits this long for an answer. */
  connect(timeoutMs: number): Cis
  /** Makes the next answers seconds late. */
  slow(): Promise<void>
  /** Takes the system away. */
  down(): Promise<void>
}

export const rules = { required: 'full', permanentIds: true } as const

/** The customer that every prepared system holds under `C-1`. */
export const customer = {
  clientId: 'C-1',
  firstName: 'Ada',
  lastName: 'Haas',
  businessName: null,
  AcctStatus: 'A',
  customerSites: [
    {
      externalSiteId: 'S-1',
      isPrimary: true,
      firstName: 'Ada',
      lastName: 'Haas',
      address1: '1 Oak Street',
      city: 'Detroit',
      state: 'MI',
      postalCode: '48201',
      meters: [
        {
          accountNumber: 'A-1',
          meterId: 'M-1',
          meterType: 'Electric',
          unitOfMeasure: 'kWh',
          isPrimary: true,
          isAMI: true,
          rateCode: 'RES',
          billingCycleId: 7,
        },
      ],
    },
  ],
} as const

/** Longer than any answer takes on a machine that is busy, and shorter than a slow one. */
const [patientMs, hastyMs] = [60_000, 500]

/** What every driver of the port promises, whatever the system behind it. */
export async function conform(t: Test, prepare: () => Promise<Prepared>): Promise<void> {
  const { connect, slow, down } = await prepare()
  const cis = connect(patientMs)
  t.test('a customer comes whole', async (t) => {
    const found = await cis.fetch('C-1')
    t.match(found, { locked: undefined, attemptsRemaining: undefined })
    const judged = judgeCustomer(found?.record, rules)
    t.same(judged.customer, customer, JSON.stringify(judged.problems))
  })
  t.test('who is not there is not there', async (t) => {
    for (const clientId of ['C-2', "C-1' OR '1'='1", '../C-1', 'C-1/', '{clientId}', 'É €']) {
      t.equal(await cis.fetch(clientId), undefined, clientId)
    }
  })
  t.test('what the system says of locks is passed on', async (t) => {
    t.match(await cis.fetch('C-locked'), { locked: true, attemptsRemaining: 0 })
  })
  t.test('a record with a missing field is passed on, and judged incomplete', async (t) => {
    const found = await cis.fetch('C-bad')
    t.match(judgeCustomer(found?.record, rules).problems, [
      { field: 'customerSites[0].postalCode', reason: 'is missing' },
    ])
  })
  t.test('many at once are answered', async (t) => {
    const all = await Promise.all(Array.from({ length: 100 }, () => cis.fetch('C-1')))
    t.ok(all.every((found) => found?.record['clientId'] === 'C-1'))
  })
  t.test('a system that is slow or away is unreachable, within its time', async (t) => {
    const hasty = connect(hastyMs)
    await slow()
    await t.rejects(hasty.fetch('C-1'), { code: 'CIS_UNREACHABLE' })
    await down()
    await t.rejects(cis.fetch('C-1'), { code: 'CIS_UNREACHABLE' })
    await Promise.all([cis.close(), hasty.close()])
  })
}
