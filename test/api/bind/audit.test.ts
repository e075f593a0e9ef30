import t from 'tap'
import { createActions } from '../../../api/bind/actions.js'
import { createBindAudit } from '../../../api/bind/audit.js'
import { followChain } from '../../../pipeline/ledger/audit.js'
import { migratedStore } from '../../pipeline/customers/registering.js'

const store = await migratedStore(t)
const actions = createActions({ store, key: 'key', now: () => new Date() })
const count = 20

/** Claims an action on a hub of its own. */
async function claimed(hub: number) {
  const macAddress = `00:07:81:00:00:00:00:${String(hub).padStart(2, '0')}`
  const codes = { hemProfileId: 'P', accountSlid: 'S', installCode: 'AB', actionCode: 1 as const }
  const action = await actions.claim({ ...codes, macAddress }, `M-${hub}`, undefined)
  if (action === undefined) throw new Error(`hub ${hub} was claimed before`)
  return action
}

t.test('binds at once are recorded together, each with who asked for it', async (t) => {
  const audit = createBindAudit(store)
  const all = await Promise.all(Array.from({ length: count }, (_, hub) => claimed(hub)))
  await Promise.all(all.map((action, hub) => audit(hub % 2 === 0 ? 'even' : 'odd', action)))
  const rows = await store.rows<{ who: string; subject: string; detail: string; claim: string }>({
    sql: `SELECT who, subject, detail, claim FROM audit_log WHERE act = 'bind' ORDER BY number`,
  })
  const wanted = all.map(({ claim }, hub) => ({
    who: hub % 2 === 0 ? 'even' : 'odd',
    subject: claim,
    detail: `bind at meter M-${hub}`,
  }))
  t.same(
    rows.map(({ claim: _, ...row }) => row),
    wanted,
  )
  t.equal(new Set(rows.map(({ claim }) => claim)).size, 2, 'the first, and all that waited for it')
  t.match(await followChain(store), { entries: count, broken: undefined })
})

t.test('outcomes at once are stored together', async (t) => {
  const all = await Promise.all(Array.from({ length: count }, (_, hub) => claimed(count + hub)))
  const inserted: number[] = []
  const counting = createActions({
    store: {
      ...store,
      insert: async (table, rows, settings) => {
        inserted.push(rows.length)
        await store.insert(table, rows, settings)
      },
    },
    key: 'key',
    now: () => new Date(),
  })
  await Promise.all(all.map((action) => counting.record(action, { state: 'success', reason: '' })))
  t.same(inserted, [1, count - 1])
  for (const { macAddress } of all) {
    t.match(await actions.recent(macAddress), [{ state: 'success' }])
  }
})
