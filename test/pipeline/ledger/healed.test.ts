import t from 'tap'
import {
  forgetHealed,
  type Outage,
  readHealed,
  recordHealed,
} from '../../../pipeline/ledger/healed.js'
import { createSystems } from '../../../pipeline/ledger/systems.js'
import { Fault } from '../../../schemas/fault.js'
import { migratedStore } from '../customers/registering.js'

const minuteMs = 60_000
const dayMs = 86_400_000
const nowMs = Date.UTC(2025, 5, 20)
const now = new Date(nowMs)
const store = await migratedStore(t)

/** An outage that began and ended so many minutes ago. */
const ago = (subject: string, from: number, to: number): Outage => ({
  kind: 'system',
  subject,
  beganAt: new Date(nowMs - from * minuteMs),
  healedAt: new Date(nowMs - to * minuteMs),
  code: 'CIS_UNREACHABLE',
  detail: 'no response',
})
const of = async (subject: string) => {
  const all = await readHealed(store, now)
  return all.filter((one) => one.subject === subject)
}

t.test('failures that follow each other within minutes are one row', async (t) => {
  await recordHealed(store, ago('flaps', 60, 50))
  await recordHealed(store, ago('flaps', 46, 40))
  t.match(await of('flaps'), [{ ...ago('flaps', 60, 40), times: 2 }])
  await recordHealed(store, ago('flaps', 34, 33))
  const rows = await of('flaps')
  t.match(rows, [{ times: 1 }, { times: 2 }], 'one that comes later has its own, the latest first')
  t.equal(rows.length, 2)
})

t.test('what is recorded twice, or seen by two processes, counts once', async (t) => {
  for (const from of [30, 30, 29]) await recordHealed(store, ago('seen', from, 25))
  await recordHealed(store, { ...ago('seen', 30, 25), kind: 'source' })
  t.match(await of('seen'), [
    { kind: 'source', times: 1 },
    { kind: 'system', times: 1 },
  ])
})

t.test('a clock that is set back during an outage does not end it before it began', async (t) => {
  await recordHealed(store, ago('jumps', 10, 20))
  await recordHealed(store, ago('jumps', 10, 20))
  t.same(await of('jumps'), [{ ...ago('jumps', 20, 20), times: 1 }])
})

t.test('it is shown for a week and deleted afterwards', async (t) => {
  const day = 24 * 60
  await recordHealed(store, ago('kept', 7 * day, 7 * day - 1))
  await recordHealed(store, ago('old', 7 * day + 2, 7 * day + 1))
  t.equal((await of('kept')).length, 1)
  t.same(await of('old'), [])
  const stored = async () => {
    const rows = await store.rows<{ subject: string }>({
      sql: `SELECT subject FROM healed FINAL WHERE subject IN ('kept', 'old')`,
    })
    return rows.map(({ subject }) => subject)
  }
  t.same((await stored()).sort(), ['kept', 'old'])
  await forgetHealed(store, now)
  t.same(await stored(), ['kept'])
  await forgetHealed(store, new Date(nowMs + 8 * dayMs))
  t.same(await stored(), [])
})

t.test('a system that failed and answers again has healed, also after a restart', async (t) => {
  const failures: Fault[] = []
  const create = () =>
    createSystems({ store, own: ['cis', 'ami'], onFailure: (fault) => failures.push(fault) })
  const healed = async () => {
    const rows = await readHealed(store, new Date())
    return rows.filter(({ subject }) => subject === 'cis' || subject === 'ami')
  }
  const systems = create()
  const down = new Fault('CIS_UNREACHABLE', 'no response from the CIS')
  systems.report('cis', down)
  systems.report('ami', new Fault('AMI_UNREACHABLE', 'no response'))
  await systems.close()
  t.same(await healed(), [], 'not while it fails')
  const again = create()
  again.report('cis', undefined)
  await again.close()
  const rows = await healed()
  t.match(rows, [{ subject: 'cis', times: 1, code: down.code, detail: down.detail }])
  t.equal(rows.length, 1)
  t.same(failures, [])
})
