import t from 'tap'
import type { PipelineContext } from '../../../pipeline/context.js'
import type { FileState } from '../../../pipeline/ledger/file-state.js'
import { load } from '../../../pipeline/steps/load.js'
import { receive } from '../../../pipeline/steps/receive.js'
import { reconcile } from '../../../pipeline/steps/reconcile.js'
import { settle } from '../../../pipeline/steps/settle.js'
import { dropStaging, emptyStaging, stagedArrivals } from '../../../pipeline/store/staging.js'
import { statementText } from '../../rig/statements/statement-text.js'
import { createLineByHand } from '../by-hand.js'

const line = await createLineByHand(t, { limits: { chunkBytes: 4_000 } })
const { context, takeIn, arrive } = line
const { store, ledger } = context

const timesOf = (hours: number) =>
  Array.from(
    { length: hours * 4 },
    (_, at) => `${Math.floor(at / 4)}:${at % 4 === 0 ? '00' : (at % 4) * 15}`,
  )

/** A file of a day with a rejected row, a row twice, a correction and new reads. */
const rowsOf = (meter: string, quantity: string) => [
  ...Array.from({ length: 4 }, (_, of) =>
    timesOf(24).map((time) => `A,S,${meter}${of},3/4/2026 ${time},${of === 0 ? quantity : 1}`),
  ).flat(),
  `A,S,${meter}1,3/4/2026 5:15,1`,
  `A,S,${meter}1,3/4/2026 nonsense,1`,
]

const outcomeOf = (state: FileState | undefined) => {
  const { status, fault, rows, quantity, restated, notes, meters } = state as FileState
  return JSON.stringify({ status, fault, rows, quantity, restated, notes, meters })
}

const readsOf = (meter: string) =>
  store.rows({
    sql: `SELECT substring(meter_id, 2) AS meter, starts_at, seconds, quantity FROM usage
      WHERE startsWith(meter_id, {meter:String}) ORDER BY meter, starts_at`,
    parameters: { meter },
  })

const restatementsOf = (meter: string) =>
  store.rows({
    sql: `SELECT substring(meter_id, 2) AS meter, starts_at, old_quantity, new_quantity
      FROM usage_restatement WHERE startsWith(meter_id, {meter:String}) ORDER BY meter, starts_at`,
    parameters: { meter },
  })

let files = 0
const nameOf = () => `DEMO_05032026_Electric_${++files}.csv`
/** A store that dies where it is asked to attach. */
const dying: PipelineContext = {
  ...context,
  store: {
    ...store,
    command: async (statement, body) => {
      if (statementText(statement).includes('`usage_read` ATTACH PARTITION'))
        throw new Error('killed')
      return store.command(statement, body)
    },
  },
}

const losses: Readonly<Record<string, (rows: readonly string[]) => Promise<number>>> = {
  'before any chunk is loaded': async (rows) => {
    const { arrival } = await arrive(nameOf(), rows)
    await receive(context, arrival)
    await dropStaging(store, arrival)
    return arrival
  },
  'between two loads': async (rows) => {
    const { arrival } = await arrive(nameOf(), rows)
    const before = line.loads.length
    await receive(context, arrival)
    const [first, ...others] = line.loads.slice(before)
    t.ok(first !== undefined && others.length > 0, `${others.length + 1} chunks`)
    if (first !== undefined) await load(context, first)
    await dropStaging(store, arrival)
    const failed = { code: 'STAGING_LOST', retry: true }
    for (const task of others.slice(0, 1)) await t.rejects(load(context, task), failed)
    for (const task of others) await load(context, task)
    return arrival
  },
  'after all loads': async (rows) => {
    const arrival = await takeIn(nameOf(), rows)
    await dropStaging(store, arrival)
    return arrival
  },
  'between the verdict and the attach': async (rows) => {
    const arrival = await takeIn(nameOf(), rows)
    await t.rejects(reconcile(dying, arrival), /killed/)
    t.match(await ledger.state(arrival), { status: 'publishing' })
    await dropStaging(store, arrival)
    return arrival
  },
}

t.test('a file whose staging is lost is loaded again, and nothing of it differs', async (t) => {
  await reconcile(context, await takeIn(nameOf(), rowsOf('U', '1').slice(0, 200)))
  const untouched = await takeIn(nameOf(), rowsOf('U', '5'))
  await reconcile(context, untouched)
  const expected = outcomeOf(await ledger.state(untouched))
  t.match(expected, /"restated":\{"rows":96/)
  for (const [at, [when, lose]] of Object.entries(losses).entries()) {
    const meter = 'VWXQ'.charAt(at)
    await reconcile(context, await takeIn(nameOf(), rowsOf(meter, '1').slice(0, 200)))
    const arrival = await lose(rowsOf(meter, '5'))
    await reconcile(context, arrival)
    t.equal(outcomeOf(await ledger.state(arrival)), expected, when)
    t.same(await readsOf(meter), await readsOf('U'), when)
    t.same(await restatementsOf(meter), await restatementsOf('U'), when)
  }
})

t.test('staging that is lost after the attach is not missed', async (t) => {
  const arrival = await takeIn(nameOf(), rowsOf('Z', '1'))
  const killed: PipelineContext = {
    ...context,
    store: {
      ...store,
      insert: async (table, ...rest) => {
        if (table === 'publication') throw new Error('killed')
        await store.insert(table, ...rest)
      },
    },
  }
  await t.rejects(reconcile(killed, arrival), /killed/)
  await dropStaging(store, arrival)
  await reconcile(context, arrival)
  t.match(await ledger.state(arrival), { status: 'published', rows: { accepted: 384 } })
  t.notOk((await stagedArrivals(store)).includes(arrival), 'it is not loaded again')
})

/** A line of which so many inserts into the staging of an arrival go to a server that is not seen again. */
function losing(arrival: number, inserts: number): PipelineContext {
  const staging = `staging_${arrival}_read`
  let left = inserts
  const command: typeof store.command = async (statement, body) => {
    const written = await store.command(statement, body)
    if (left === 0 || !statementText(statement).startsWith(`INSERT INTO \`${staging}\``))
      return written
    left--
    await store.command({ sql: `TRUNCATE TABLE ${staging}` })
    return written
  }
  return { ...context, store: { ...store, command } }
}

t.test(
  'an insert that another server took is repeated, and a lasting difference refuses',
  async (t) => {
    const cases = [
      { inserts: 1, outcome: { status: 'published', rows: { accepted: 384, rejected: 1 } } },
      {
        inserts: Number.POSITIVE_INFINITY,
        outcome: { status: 'quarantined', fault: 'UNBALANCED' },
      },
    ]
    for (const [at, { inserts, outcome }] of cases.entries()) {
      const arrival = await takeIn(nameOf(), rowsOf('KL'.charAt(at), '1'))
      await store.command({ sql: `TRUNCATE TABLE staging_${arrival}_read` })
      await reconcile(losing(arrival, inserts), arrival)
      t.match(await ledger.state(arrival), outcome, `${inserts}`)
    }
  },
)

t.test('who is held up until a file is settled takes nothing of it away', async (t) => {
  const arrival = await takeIn(nameOf(), rowsOf('S', '1'))
  const loads = line.loads.filter((one) => one.arrival === arrival)
  let isOver = false
  const settleFirst = async () => {
    if (isOver) return
    isOver = true
    await reconcile(context, arrival)
    await settle(context, arrival)
  }
  const heldUp: PipelineContext = {
    ...context,
    ledger: {
      ...ledger,
      receipts: async (of) => {
        await settleFirst()
        return ledger.receipts(of)
      },
    },
  }
  await t.rejects(reconcile(heldUp, arrival), { code: 'STAGING_LOST' })
  const kept = async () => {
    const found = await store.rows({
      sql: 'SELECT count() AS rejects FROM rejected_row WHERE arrival = {arrival:UInt32}',
      parameters: { arrival },
    })
    return [found, (await ledger.receipts(arrival)).length]
  }
  t.same(await kept(), [[{ rejects: '1' }], loads.length])
  await t.resolves(reconcile(heldUp, arrival), 'its next attempt sees the verdict')
  t.notOk((await stagedArrivals(store)).includes(arrival))
})

t.test('the tables that are read after the verdict are flushed to disk', async (t) => {
  const engines = new Map<string, string>()
  let isDecided = false
  const look = async (text: string) => {
    for (const [name] of isDecided ? text.matchAll(/staging_\d+_\w+/g) : []) {
      const [table] = await store.rows<{ engine_full: string }>({
        sql: 'SELECT engine_full FROM system.tables WHERE name = {name:String}',
        parameters: { name },
      })
      engines.set(name.replaceAll(/\d+/g, '*'), table?.engine_full ?? '')
    }
  }
  const command: typeof store.command = async (statement, body) => {
    if (!/^DROP/.test(statementText(statement))) await look(statementText(statement))
    return store.command(statement, body)
  }
  const watched: PipelineContext = {
    ...context,
    store: { ...store, command },
    ledger: {
      ...ledger,
      recordVerdicts: async (...verdicts) => {
        isDecided = true
        await ledger.recordVerdicts(...verdicts)
      },
    },
  }
  const sparse = ['1:00', '5:00'].map((time) => `A,S,R1,3/4/2026 ${time},2`)
  for (const rows of [sparse, rowsOf('R', '1'), rowsOf('R', '5')]) {
    isDecided = false
    const arrival = await takeIn(nameOf(), rows)
    await reconcile(watched, arrival)
    t.match(await ledger.state(arrival), { status: 'published' })
  }
  for (const kind of ['overlap', 'provisional', 'rekey']) {
    t.ok(
      [...engines.keys()].some((name) => name.includes(kind)),
      `${kind}: ${[...engines.keys()]}`,
    )
  }
  for (const [name, engine] of engines) t.match(engine, /fsync_after_insert = 1/, name)
})

t.test(
  'reads that another decision empties while they are judged are published all the same',
  async (t) => {
    const arrival = await takeIn(
      nameOf(),
      timesOf(24).map((time) => `A,S,ZED,3/4/2026 ${time},1`),
    )
    let isEmptied = false
    const rows: typeof store.rows = async (statement) => {
      const isJudging = statementText(statement).startsWith('SELECT 1 FROM erasure')
      if (isJudging && !isEmptied) await emptyStaging(store, arrival)
      isEmptied ||= isJudging
      return store.rows(statement)
    }
    const disturbed = { ...context, store: { ...store, rows } }
    await reconcile(disturbed, arrival)
    t.ok(isEmptied)
    t.equal((await readsOf('ZED')).length, 96)
    t.match(await ledger.state(arrival), { status: 'published', rows: { accepted: 96 } })
  },
)
