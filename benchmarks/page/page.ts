import { grouped } from '../../infra/commands/output/table.js'
import type { Panel } from '../../infra/operations/live.js'
import { createPanels } from '../../infra/operations/panels.js'
import { createQueues } from '../../pipeline/queues/bullmq.js'
import { createStore, type Statement, type Store } from '../../pipeline/store/clickhouse.js'
import { sql } from '../../pipeline/store/sql.js'
import { buildDaysAgain } from '../../pipeline/usage/days/build.js'
import { createZone } from '../../schemas/time/zone.js'
import { statementText } from '../../test/rig/statements/statement-text.js'
import { createRig, type Rig } from '../rig.js'
import { median, verdict } from '../usage/figures.js'
import { daysOfReads, type Filling, fill } from './fill.js'

export interface PageBenchOptions extends Filling {
  readonly rounds: number
  readonly print: (line: string) => void
}

/** Figures of a page that is just opened should be there at once. */
const msMax = 300
/** What a statement may take, in bare counts of the tables that it reads. */
const countsMax = 3

/**
 * A ledger of a year, a crowded Redis and two weeks of reads: how long each panel of the operations
 * page takes, alone and all at once as when the page is opened, and each of their statements beside
 * bare counts of the tables that it reads.
 */
export async function measurePage(options: PageBenchOptions): Promise<void> {
  const { files, jobs, meters, rounds, print } = options
  const profile = { companyCodes: ['BENCH'], timeZone: 'America/Detroit' }
  const rig = await createRig({ name: 'page', profile, say: print })
  try {
    const reads = meters * 96 * daysOfReads
    print(`${grouped(files)} files, ${grouped(jobs)} jobs, ${grouped(reads)} reads`)
    print(
      `estimate: first figures within ${msMax} ms, a statement ${countsMax} bare counts at most`,
    )
    await fill(rig, options)
    const days = await rig.store.rows<{ day: string }>({
      sql: 'SELECT DISTINCT toString(local_day) AS day FROM usage_read',
    })
    await buildDaysAgain(
      rig.store,
      days.map(({ day }) => day),
    )
    await measure(rig, rounds, print)
  } finally {
    await rig.close()
  }
}

async function measure(rig: Rig, rounds: number, print: (line: string) => void): Promise<void> {
  const { profile, stack, home } = rig
  const store = createStore(stack.store)
  const { asked, listening } = listenTo(store)
  const queues = createQueues({ redisUrl: stack.redisUrl, prefix: profile.database })
  const zone = createZone(profile.timeZone)
  const { landing } = home
  const now = () => new Date()
  const judge = async (error: unknown) => error
  const panels = createPanels({ store: listening, queues, profile, zone, landing, now, judge })
  try {
    await reportPanels(panels, rounds, print)
    const counts = await bareCounts(rig, store)
    const ratios: number[] = []
    for (const panel of panels) {
      asked.clear()
      await panel.read()
      for (const statement of [...asked.values()]) {
        ratios.push(await compare({ name: panel.name, statement, store, counts, rounds, print }))
      }
    }
    const most = Math.max(...ratios)
    print(
      verdict(`the slowest statement ${most.toFixed(2)} bare counts`, most <= countsMax, countsMax),
    )
  } finally {
    await queues.close()
    await store.close()
  }
}

async function reportPanels(
  panels: readonly Panel[],
  rounds: number,
  print: (line: string) => void,
): Promise<void> {
  const report = async (name: string, run: () => Promise<unknown>) => {
    const took: number[] = []
    for (let round = 0; round < rounds; round++) took.push(await time(run))
    print(`${name.padEnd(24)} ${median(took).toFixed(1).padStart(8)} ms`)
    return median(took)
  }
  for (const { name, read } of panels) await report(name, read)
  const all = await report('all panels at once', () =>
    Promise.all(panels.map(({ read }) => read())),
  )
  print(verdict(`first figures after ${Math.round(all)} ms`, all <= msMax, msMax))
}

/** A store that keeps each different statement that it is asked. */
function listenTo(store: Store) {
  const asked = new Map<string, Statement>()
  const rows = <T>(statement: Statement) => {
    asked.set(statementText(statement), statement)
    return store.rows<T>(statement)
  }
  return { asked, listening: { ...store, rows } }
}

/**
 * For each table the count that goes over its rows: without a condition the engine reports the number
 * from what it keeps beside them. One column is read, the first of the key.
 */
async function bareCounts({ store: own }: Rig, { address }: Store) {
  const tables = await own.rows<{ name: string; column: string }>({
    sql: `SELECT name, splitByChar(',', sorting_key)[1] AS column FROM system.tables
      WHERE database = {database:String} AND sorting_key != ''`,
    parameters: { database: address.database },
  })
  const sqlOf = (name: string, column: string) =>
    `SELECT count() FROM ${name} WHERE NOT ignore(${column})`
  return new Map(tables.map(({ name, column }) => [name, { sql: sqlOf(name, column) }]))
}

interface Comparison {
  readonly name: string
  readonly statement: Statement
  readonly store: Store
  readonly counts: ReadonlyMap<string, Statement>
  readonly rounds: number
  readonly print: (line: string) => void
}

/**
 * What a statement takes over what the counts of all tables that it reads take: in turn, so that both
 * meet the same machine, and on as many threads. One that finds its table empty is not compared.
 */
async function compare(comparison: Comparison): Promise<number> {
  const { name, statement, store, counts, rounds, print } = comparison
  const { sql: asked, settings } = statement
  if (typeof asked === 'string') throw new TypeError(`not tagged: ${asked}`)
  const explain = { ...statement, sql: sql`EXPLAIN ${asked}` }
  const plan = await store.rows<{ explain: string }>(explain)
  const read = plan.flatMap(
    ({ explain }) => /ReadFromMergeTree \(\w+\.(\w+)\)/.exec(explain)?.[1] ?? [],
  )
  const tables = [...new Set(read)]
  if (tables.length === 0) return 0
  const bare = tables.flatMap((table) => counts.get(table) ?? [])
  const took: number[] = []
  const counted: number[] = []
  for (let round = 0; round < rounds; round++) {
    took.push(await time(() => store.rows(statement)))
    let sum = 0
    for (const count of bare) {
      sum += await time(() => store.rows({ ...count, ...(settings && { settings }) }))
    }
    counted.push(sum)
  }
  const [own, beside] = [median(took), median(counted)]
  const figures = `${own.toFixed(1).padStart(8)} ms, counts ${beside.toFixed(1).padStart(6)} ms`
  print(`${name.padEnd(14)}${figures}, ${(own / beside).toFixed(2)} of ${tables.join(', ')}`)
  return own / beside
}

async function time(run: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now()
  await run()
  return performance.now() - startedAt
}
