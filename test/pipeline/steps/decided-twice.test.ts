import t from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import { createLedger } from '../../../pipeline/ledger/ledger.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { statementText } from '../../rig/statements/statement-text.js'
import { createLineByHand } from '../by-hand.js'

const line = await createLineByHand(t)
const { store } = line.context

/** A worker that does something before its first statement of a kind, and then goes on. */
function heldUp(at: RegExp, meanwhile: () => Promise<unknown>): PipelineContext {
  let isOver = false
  const look = async (statement: string) => {
    if (isOver || !at.test(statement)) return
    isOver = true
    await meanwhile()
  }
  const slow: Store = {
    ...store,
    rows: async (statement) => {
      await look(statementText(statement))
      return store.rows(statement)
    },
    command: async (statement, body) => {
      await look(statementText(statement))
      return store.command(statement, body)
    },
    insert: async (table, ...rest) => {
      await look(`INSERT INTO ${table}`)
      return store.insert(table, ...rest)
    },
  }
  return { ...line.context, store: slow, ledger: createLedger(slow, line.context.now) }
}

/** One worker stops before `first`, the other starts and stops before `second`; both go on in turn. */
async function cross(arrival: number, first: RegExp, second: RegExp): Promise<void> {
  let goOn: () => void = () => undefined
  const isOver = new Promise<void>((resolve) => {
    goOn = resolve
  })
  let other: Promise<unknown> = isOver
  const one = heldUp(first, () => {
    return new Promise<void>((reached) => {
      const beside = heldUp(second, () => {
        reached()
        return isOver
      })
      other = reconcile(beside, arrival).finally(reached)
    })
  })
  await reconcile(one, arrival)
  goOn()
  await other
}

const moments = {
  'the reads to publish are copied': /INSERT INTO `staging_\d+_final/,
  'the copy is counted': /FROM `staging_\d+_final/,
  'the verdict is recorded': /INSERT INTO file_state/,
}

let day = 0
const takeIn = () => {
  const name = `DEMO_${String(++day).padStart(2, '0')}022026_Electric.csv`
  return line.takeIn(name, [`A,S,M,1/5/2026 1:00,${day}`, 'A,S,M,1/5/2026 1:15,1'])
}

await reconcile(line.context, await takeIn())

for (const [first, at] of Object.entries(moments)) {
  for (const [second, other] of Object.entries(moments)) {
    t.test(
      `a file is published once by two workers: one held up before ${first}, the other before ${second}`,
      async (t) => {
        const arrival = await takeIn()
        await cross(arrival, at, other)
        const state = await line.context.ledger.state(arrival)
        t.match(state, { status: 'published', rows: { accepted: 1, duplicate: 1 }, fault: '' })
        const of = { parameters: { arrival } }
        const sql = `SELECT count() AS numbers FROM publication WHERE arrival = {arrival:UInt32}`
        t.same(await store.rows({ sql, ...of }), [{ numbers: '1' }])
        const reads = `SELECT toString(quantity) AS quantity FROM usage
        WHERE bitShiftRight(version, 32) = {arrival:UInt32}`
        t.same(await store.rows({ sql: reads, ...of }), [{ quantity: String(day) }])
        const left = `SELECT DISTINCT extract(name, '\\d+$') AS decision FROM system.tables
        WHERE startsWith(name, 'staging_${arrival}_') AND match(name, '\\d$')`
        t.same(await store.rows({ sql: left }), [{ decision: String(state?.decision) }])
      },
    )
  }
}
