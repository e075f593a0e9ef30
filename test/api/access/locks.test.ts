import { t } from 'tap'
import { createLocks } from '../../../api/access/locks.js'
import type { Statement, Store } from '../../../pipeline/store/clickhouse.js'
import { Fault } from '../../../schemas/fault.js'
import { statementText } from '../../rig/statements/statement-text.js'

/** A store without replicas that answers on demand. */
const slowStore = () => {
  const waiting: { answer(clientIds: readonly string[]): void; fail(): void }[] = []
  const rows = (statement: Statement) =>
    new Promise((resolve, reject) => {
      if (statementText(statement).includes('system.')) return resolve([])
      waiting.push({
        answer: (clientIds) => resolve(clientIds.map((client_id) => ({ client_id }))),
        fail: () => reject(new Fault('STORE_UNREACHABLE', 'away')),
      })
    })
  const next = async () => {
    for (;;) {
      const one = waiting.shift()
      if (one !== undefined) return one
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
  return { store: { rows } as unknown as Store, next }
}

t.test('a lock holds while the locks are being read again, whatever comes of it', async (t) => {
  const { store, next } = slowStore()
  const failures: Fault[] = []
  const locks = createLocks({ store, everyMs: 1, onFailure: (fault) => failures.push(fault) })
  t.throws(() => locks.has('C-1'), { code: 'STORE_UNREACHABLE' }, 'nobody is let in unseen')
  ;(await next()).answer([])
  const second = await next()
  t.equal(locks.has('C-1'), false)
  second.answer([])
  locks.add('C-1')
  t.equal(locks.has('C-1'), true)
  const third = await next()
  t.equal(locks.has('C-1'), true, 'while it is being read')
  third.fail()
  const fourth = await next()
  t.equal(locks.has('C-1'), true, 'when the store is away')
  t.equal(failures.length, 1)
  fourth.answer(['C-1'])
  const fifth = await next()
  t.equal(locks.has('C-1'), true, 'as the store has it')
  fifth.answer([])
  const sixth = await next()
  t.equal(locks.has('C-1'), false, 'until it is taken away there')
  const closed = locks.close()
  sixth.answer([])
  await closed
})
