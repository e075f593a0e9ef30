import t from 'tap'
import { billRig } from './rig.js'

const rig = await billRig(t)

/** Publishes documents of one period, each in its own file, and returns the state of each. */
async function statesOf(account: string, ...documents: readonly string[]) {
  for (const [at, one] of documents.entries())
    await rig.publish({
      Billing: [`${account},S,M${account},2026-01-01,2026-01-31,${one},,D${at}`],
    })
  const found = await rig.store.rows<{ state: string }>({
    sql: `SELECT state FROM bill_history WHERE account_number = '${account}'
      ORDER BY document_number`,
  })
  return found.map(({ state }) => state)
}

const rebilled = ['cancelled', 'cancellation', 'current']

t.test('a document and the later one that negates both of its values are a pair', async (t) => {
  t.same(await statesOf('charge', '500,,70,', '-500,,-70,', '480,,67,'), rebilled)
  t.same(await statesOf('mixed', '-500,,20,', '500,,-20,', '-480,,19,'), rebilled)
  t.same(await statesOf('credit', '-500,,-70,', '500,,70,', '-480,,-67,'), rebilled)
  t.same(await statesOf('costless', '500,,,', '-500,,,', '500,,,'), rebilled)
  t.same(await statesOf('unlike', '500,,70,', '-500,,70,', '0,,0,'), steady('current'))
  t.same(await statesOf('dollars', '0,,9,', '0,,-9,', '0,,9,'), rebilled)
})

const steady = (state: string) => new Array(3).fill(state)

t.test('a document whose reversal is corrected comes with the next increment', async (t) => {
  t.same(await statesOf('again', '500,,70,', '-500,,-70,'), ['cancelled', 'cancellation'])
  const [last] = await rig.store.rows<{ seq: string }>({
    sql: 'SELECT toString(max(published_seq)) AS seq FROM publication',
  })
  await rig.publish({ Billing: ['again,S,Magain,2026-01-01,2026-01-31,-400,,-56,,,D1'] })
  const pulled = await rig.store.rows({
    sql: `SELECT document_number AS document, state FROM bill_history
      WHERE published_seq > ${last?.seq} ORDER BY document`,
  })
  t.same(pulled, [
    { document: 'D0', state: 'current' },
    { document: 'D1', state: 'current' },
  ])
})
