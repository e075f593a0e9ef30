import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import type { Store } from '../../pipeline/store/clickhouse.js'
import { deleteFrom, onReplicas } from '../../pipeline/store/replicas.js'
import { id, type Sql, sql } from '../../pipeline/store/sql.js'
import { attach, createLike, onceSettings } from '../../pipeline/store/staging.js'
import { Fault } from '../../schemas/fault.js'

/** Versions of ClickHouse that the tests have run on, `major.minor`. */
export const versionsKnownGood = ['26.5', '26.7'] as const

interface Tried {
  readonly name: string
  /** Rows that a reader sees, and their highest version. */
  readonly rows: string
  readonly version: string
}

/** What loading exactly once rests on, with what the table must show of it. */
const expected: readonly (Tried & { readonly promise: string })[] = [
  {
    name: 'token',
    rows: '1',
    version: '1',
    promise: 'of two inserts with one token the first is stored',
  },
  {
    name: 'token of a SELECT',
    rows: '1',
    version: '1',
    promise: 'of two INSERT ... SELECT with one token the first is stored',
  },
  {
    name: 'again',
    rows: '1',
    version: '1',
    promise: 'a row that was deleted is stored when it is inserted again without a token',
  },
  {
    name: 'attach',
    rows: '1',
    version: '2',
    promise: 'the rows of an attached table are read, and FINAL returns the last version',
  },
]

/**
 * Tries at a server what loading exactly once rests on, because its version does not show it: some ignore
 * tokens. Throws `STORE_REFUSED` with the promise that does not hold, or with a right that the user lacks.
 */
export async function testEngine(store: Store): Promise<void> {
  await tryRights(store)
  const run = randomUUID()
  const staging = `self_test_${run.replaceAll('-', '')}`
  const row = (name: string, version: number) =>
    sql`SELECT ${run} AS run, ${name} AS name, ${version} AS version`
  const insert = (into: string, select: Sql) =>
    sql`INSERT INTO ${id(into)} (run, name, version) ${select}`
  for (const version of [1, 2]) {
    const settings = onceSettings(`${run} insert`)
    await store.insert('self_test', [{ run, name: 'token', version }], settings)
    await store.command({
      sql: insert('self_test', row('token of a SELECT', version)),
      settings: onceSettings(`${run} select`),
    })
  }
  // The clock of the server: it drops what is older than a day.
  const [clock] = await store.rows<{ now: number }>({
    sql: sql`SELECT toUnixTimestamp(now()) AS now`,
  })
  const again = { run, name: 'again', version: 1, tested_at: clock?.now }
  await store.insert('self_test', [again])
  await deleteFrom(store, 'self_test', sql`run = ${run} AND name = ${again.name}`)
  await store.insert('self_test', [again])
  const engine = sql`ReplacingMergeTree(version) ORDER BY (run, name)`
  try {
    await store.command(createLike('self_test', { table: staging, engine }))
    await store.command({ sql: insert(staging, row('attach', 2)) })
    await store.command({ sql: insert('self_test', row('attach', 1)) })
    for (let time = 0; time < 2; time++) await attach(store, 'self_test', staging)
  } finally {
    await store.command({ sql: sql`DROP TABLE IF EXISTS ${id(staging)} SYNC` })
  }
  const tried = await readTried(store, run)
  const broken = expected.find(({ promise: _, ...one }) => {
    const found = tried.find(({ name }) => name === one.name)
    return JSON.stringify(found) !== JSON.stringify(one)
  })
  if (broken === undefined) return
  const known = `use a version that is known good (${versionsKnownGood.join(', ')})`
  throw new Fault(
    'STORE_REFUSED',
    `what loading exactly once rests on does not hold: ${broken.promise}; ${known}`,
  )
}

/** Does nothing in ways in which only later steps do something: without the right they would quarantine files. */
async function tryRights(store: Store): Promise<void> {
  const body = Readable.from([])
  const insert = sql`INSERT INTO self_test (run) SELECT run FROM input('run String') FORMAT CSV`
  await store.command({ sql: insert }, body)
  const update = sql`ALTER TABLE self_test UPDATE tested_at = tested_at WHERE 0`
  await onReplicas(store, 'self_test', update)
  for (const table of ['processes', 'mutations', 'replicas', 'detached_parts']) {
    await store.rows({ sql: sql`SELECT 1 FROM ${id('system', table)} LIMIT 0` })
  }
}

async function readTried(store: Store, run: string): Promise<readonly Tried[]> {
  return store.rows<Tried>({
    sql: sql`SELECT name, toString(count()) AS rows, toString(max(version)) AS version
      FROM self_test FINAL WHERE run = ${run} GROUP BY name`,
  })
}
