import t from 'tap'
import { recordPeriods } from '../../../pipeline/bills/periods.js'
import { readSources, recordPause } from '../../../pipeline/sources/state.js'
import { sql } from '../../../pipeline/store/sql.js'
import { readDamage, recordDamage } from '../../../pipeline/verify/damage.js'
import { migratedStore } from '../customers/registering.js'

const hourMs = 3_600_000
const inAnHour = () => new Date(Date.now() + hourMs).toISOString()

t.test('a state that is written after the clock was set back counts', async (t) => {
  const store = await migratedStore(t)

  t.test('an operator resumes a source', async (t) => {
    await recordPause(store, 'inbox', { active: true, at: new Date() })
    const paused = { source: 'inbox', aspect: 'pause', active: true, recorded_at: inAnHour() }
    await store.insert('source_state', [paused])
    t.ok((await readSources(store)).get('inbox')?.pausedAt)
    await recordPause(store, 'inbox', { active: false, at: new Date() })
    t.notOk((await readSources(store)).has('inbox'))
  })

  t.test('a verification that finds all in order resolves what an earlier one found', async (t) => {
    const damage = {
      kind: 'part',
      subject: 'usage_read/all_1_1_0',
      arrival: 0,
      rows: 3,
      quantity: '1',
    } as const
    const found = { covered: 'rows', kinds: ['part'], rows: 9, machine: 'a' } as const
    await recordDamage(store, { ...found, damage: [{ ...damage, detail: 'gone' }] }, new Date())
    await store.insert('verification', [
      { ...damage, detail: 'gone', open: true, recorded_at: inAnHour() },
    ])
    t.equal((await readDamage(store)).length, 1)
    await recordDamage(store, { ...found, damage: [] }, new Date())
    t.same(await readDamage(store), [])
  })

  t.test('a period of bills is not computed again and again', async (t) => {
    const today = new Date().toISOString().slice(0, 10)
    const id = { cycleId: '4', first: today }
    const row = { billing_cycle_id: '4', start_date: today, recorded_at: inAnHour() }
    await store.insert('bill_state', [{ ...row, known_at: '2026-01-01T00:00:00Z' }])
    await recordPeriods(store, [{ ...id, knownAt: Date.parse('2026-02-01T00:00:00Z') }])
    const [state] = await store.rows<{ known: string }>({
      sql: sql`SELECT toString(known_at) AS known FROM bill_state FINAL`,
    })
    t.match(state?.known, /^2026-02-01/)
  })
})
