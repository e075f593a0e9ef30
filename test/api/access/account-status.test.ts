import t from 'tap'
import { createCustomers } from '../../../api/access/account-status.js'

/** Customers of a CIS that answers with one record. */
const customersWith = (AcctStatus: unknown, normalise: boolean) =>
  createCustomers({
    cis: {
      fetch: async (clientId) => ({
        record: { clientId, customerSites: [], AcctStatus },
        problems: [],
        locked: undefined,
        attemptsRemaining: undefined,
      }),
      close: async () => undefined,
    },
    rules: { required: 'full', permanentIds: false, normalise },
    closedStatuses: ['C', '9', 'true'],
    statusSeconds: 0,
    statusesMax: 1,
    now: () => 0,
  })

t.test('a status of an account is text or a number, or the record is refused', async (t) => {
  for (const normalise of [true, false]) {
    const closed = ['C', 9, true]
    for (const status of [...closed, 'A', 1, false, null, undefined]) {
      const { isClosed } = await customersWith(status, normalise).status('1')
      t.equal(isClosed, closed.includes(status as never), String(status))
    }
    for (const status of [{ toString: 1 }, {}, ['C'], []]) {
      const customers = customersWith(status, normalise)
      const refused = {
        code: 'CIS_ANSWER',
        message: /AcctStatus that is neither text nor a number/,
      }
      await t.rejects(async () => customers.status('1'), refused)
      await t.rejects(customers.read('1'), refused)
    }
  }
})
