import t, { type Test } from 'tap'
import type { Property } from '../../../benchmarks/cluster/properties.js'
import {
  type ClusterOptions,
  type ClusterResult,
  runSchedules,
} from '../../../benchmarks/cluster/run.js'
import type { Statement } from '../../../pipeline/store/clickhouse.js'
import { Fault } from '../../../schemas/fault.js'
import { sample, someOf } from '../../rig/sample.js'
import { statementText } from '../../rig/statements/statement-text.js'

t.setTimeout(3_600_000)

type Spoil = NonNullable<ClusterOptions['spoil']>

/** Forgets that a file was settled. */
const neverSettling: Spoil = (store) => ({
  ...store,
  insert: async (table, rows, settings) => {
    const states = rows as readonly { settled_at?: string | null }[]
    if (table === 'file_state' && states.some((one) => one.settled_at != null)) return
    await store.insert(table, rows, settings)
  },
})

/** Attaches a file before its verdict is written. */
const attachingFirst: Spoil = (store) => ({
  ...store,
  insert: async (table, rows, settings) => {
    for (const row of rows as readonly { status?: string; arrival: number }[]) {
      if (table !== 'file_state' || row.status !== 'publishing') continue
      const sql = `ALTER TABLE usage_read ATTACH PARTITION tuple() FROM staging_${row.arrival}_read`
      await store.command({ sql }).catch(() => undefined)
    }
    await store.insert(table, rows, settings)
  },
})

/** Takes the reads of a meter away, then attaches those that replace them. */
const replacingInTwoSteps: Spoil = (store) => ({
  ...store,
  command: async (statement, body) => {
    const [, staging] =
      /`usage_read` ATTACH PARTITION tuple\(\) FROM (\S+)/.exec(statementText(statement)) ?? []
    if (staging !== undefined) {
      const found = await store.rows<{ meter: string }>({
        sql: `SELECT DISTINCT meter_id AS meter FROM ${staging}`,
      })
      const meters = found.map(({ meter }) => `'${meter}'`).join(', ')
      await store.command({ sql: `DELETE FROM usage_read WHERE meter_id IN (${meters})` })
    }
    return store.command(statement, body)
  },
})

/** Acknowledges the publication of a file that one replica has, while the other one lags. */
const acknowledgingAtOne: Spoil = (store) => ({
  ...store,
  insert: async (table, rows, settings) => {
    const [first] = rows as readonly { kind?: string }[]
    if (table !== 'publication' || first?.kind !== 'file') {
      return store.insert(table, rows, settings)
    }
    await store.command({ sql: 'SYSTEM STOP FETCHES r2.publication' })
    await store.insert(table, rows, { ...settings, insert_quorum: 0 })
  },
  runTask: async (name, task) => {
    const isNext = !name.startsWith('settle')
    if (isNext) await store.command({ sql: 'SYSTEM START FETCHES r2.publication' })
    return store.runTask(name, task)
  },
})

/** Publishes a file without its reads. */
const attachingNothing: Spoil = (store) => ({
  ...store,
  command: async (statement, body) =>
    /`usage_read` ATTACH PARTITION/.test(statementText(statement))
      ? 0
      : store.command(statement, body),
})

/** Reads the last arrival where the newest is not known yet, and claims numbers without a token. */
const claimingBehind: Spoil = (store) => {
  let before: readonly unknown[] | undefined
  return {
    ...store,
    rows: async <T>(statement: Statement) => {
      const found = await store.rows<T>(statement)
      if (!statementText(statement).includes('max(arrival) + 1')) return found
      const shown = before ?? found
      before = found
      return shown as readonly T[]
    },
    insert: (table, rows, { insert_deduplication_token: _, ...settings } = {}) =>
      store.insert(table, rows, settings),
  }
}

/** Erases all but one table. */
const overlooking =
  (table: string): Spoil =>
  (store) => ({
    ...store,
    rows: async (statement) => {
      const isCount = new RegExp(`FROM .${table}.\\s+WHERE .*\\sGROUP BY account`, 's')
      return isCount.test(statementText(statement)) ? [] : store.rows(statement)
    },
  })

/** Publishes a run without its bills. */
const withoutBills: Spoil = (store) => ({
  ...store,
  command: async (statement, body) =>
    /INSERT INTO .?bill_row/.test(statementText(statement)) ? 0 : store.command(statement, body),
})

/** Derives a table from a replicated one, with its path in Keeper. */
const copyingReplicated: Spoil = (store) => ({
  ...store,
  command: async (statement, body) => {
    if (/INSERT INTO .?bill_row/.test(statementText(statement))) {
      await store.command({ sql: 'CREATE TABLE bill_variant_1 AS bill_plan' })
    }
    return store.command(statement, body)
  },
})

/** Counts lost staging as a reason to refuse a file. */
const refusingLost: Spoil = (store) => {
  const lasting = (error: unknown) => {
    const isLost = error instanceof Fault && error.code === 'STAGING_LOST'
    throw isLost ? new Fault('STORE_REFUSED', error.message) : error
  }
  return {
    ...store,
    rows: (statement) => store.rows<never>(statement).catch(lasting),
    command: (statement, body) => store.command(statement, body).catch(lasting),
  }
}

/** Takes a statement whose connection broke for one that was carried out. */
const trustingBroken: Spoil = (store) => {
  const trust = (error: unknown) => {
    if (error instanceof Fault && error.message.includes('did not answer')) return undefined
    throw error
  }
  return {
    ...store,
    insert: (table, rows, settings) => store.insert(table, rows, settings).catch(trust),
    command: (statement, body) => store.command(statement, body).catch(trust),
  }
}

/** Takes a refused insert for one that is never accepted. */
const givingUp: Spoil = (store) => ({
  ...store,
  insert: (table, rows, settings) =>
    store.insert(table, rows, settings).catch((error: unknown) => {
      throw error instanceof Fault ? new Fault('STORE_REFUSED', error.message) : error
    }),
})

/** Schedules of the seed: one with lag and an erasure, one with fail-over and bills. */
const [erasure, bills] = [55, 76]
const seed = 1

/** For each property a defect, and a schedule that shows it. */
const defects: Readonly<Record<Property, readonly [schedule: number, spoil: Spoil]>> = {
  'unpublished reads seen': [erasure, attachingFirst],
  'settled files on one replica': [erasure, acknowledgingAtOne],
  'settled rows missing': [erasure, attachingNothing],
  'published reads vanished': [erasure, replacingInTwoSteps],
  'numbers given twice': [erasure, claimingBehind],
  'erased rows seen': [erasure, overlooking('usage_read')],
  'erased accounts stored': [erasure, overlooking('termination_row')],
  'bills partly visible': [bills, withoutBills],
  'good files quarantined': [bills, refusingLost],
  'good files unfinished': [erasure, neverSettling],
  'statements refused': [bills, copyingReplicated],
}
/** Defects that need broken connections, and refusals; Keeper that is away brings these. */
const ofWeather: readonly (readonly [Property, readonly [number, Spoil]])[] = [
  ['good files unfinished', [3, trustingBroken]],
  ['statements refused', [81, givingUp]],
]
const planted = [...Object.entries(defects), ...ofWeather] as [Property, readonly [number, Spoil]][]

for (const [property, [schedule, spoil]] of someOf(planted)) {
  t.test(`schedule ${schedule} over two replicas sees a defect: ${property}`, async (t) => {
    const { violations } = await play(t, schedule, spoil)
    t.ok(violations[property] > 0, `${violations[property]} violations`)
  })
}

/** The short run plays others without a defect, in run.test.ts. */
for (const schedule of sample({ short: [], long: [erasure, bills, 3, 81] })) {
  t.test(`schedule ${schedule} shows nothing without a defect`, async (t) => {
    t.same((await play(t, schedule)).first, {})
  })
}

function play(t: Test, schedule: number, spoil?: Spoil): Promise<ClusterResult> {
  const range = { seed, from: schedule, to: schedule }
  return runSchedules({ ...range, say: (line) => t.comment(line), ...(spoil && { spoil }) })
}
