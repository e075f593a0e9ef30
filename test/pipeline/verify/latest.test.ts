import { readFileSync, rmSync } from 'node:fs'
import t from 'tap'
import { latestPaths } from '../../../pipeline/ledger/outbox.js'
import { createLineByHand } from '../by-hand.js'
import { createRepairing } from '../usage/lengths/repairing.js'

const line = await createLineByHand(t)
const { ledger, folders } = line.context
const { keep, lose, repairAll } = createRepairing(line)
const name = 'DEMO_01062024_Electric.csv'
const hours = (count: number, quantity: number) =>
  Array.from({ length: count }, (_, hour) => `A,S,M,6/1/2024 ${hour}:00,${quantity + hour}`)

t.test('a repair of an older state of a file does not become its latest', async (t) => {
  const first = await keep(name, hours(8, 1))
  const second = await keep(name, hours(6, 10))
  const [state] = await ledger.states([second])
  const { receipt } = latestPaths(folders.outbox, state as NonNullable<typeof state>)
  const before = readFileSync(receipt, 'utf8')
  await lose(`bitShiftRight(version, 32) = ${first}`)
  t.equal(await repairAll(t), 1)
  t.equal(readFileSync(receipt, 'utf8'), before, 'the receipt is that of the latest state')
  t.match(await ledger.latest({ name }), { arrival: second })
})

t.test('a repair writes no receipt under the name of its file', async (t) => {
  const other = 'DEMO_02062024_Electric.csv'
  const arrival = await keep(
    other,
    hours(6, 1).map((row) => row.replace('6/1', '6/2')),
  )
  const [state] = await ledger.states([arrival])
  const { receipt } = latestPaths(folders.outbox, state as NonNullable<typeof state>)
  rmSync(receipt)
  await lose(`bitShiftRight(version, 32) = ${arrival}`)
  t.equal(await repairAll(t), 1)
  t.throws(() => readFileSync(receipt), { code: 'ENOENT' })
})
