import { readFileSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import { readStatements } from '../../../infra/schema/migrate.js'
import { countedTables } from '../../../pipeline/verify/entries.js'
import { madeAgain } from '../../../pipeline/verify/remedies.js'
import { verify } from '../../../pipeline/verify/verify.js'
import { createLineByHand } from '../by-hand.js'

const { context } = await createLineByHand(t)
const { store } = context

const look = async () => (await verify(context, { files: false, lookMs: 1 })).damage

/** Stores a row, and lets the engine have set its part aside; returns where the part is. */
async function setAside(table: string): Promise<string> {
  await store.insert(table, [{}])
  const ofTable = `database = currentDatabase() AND table = '${table}'`
  const [part] = await store.rows<{ name: string }>({
    sql: `SELECT name FROM system.parts WHERE active AND ${ofTable} LIMIT 1`,
  })
  await store.command({ sql: `ALTER TABLE ${table} DETACH PART '${part?.name}'` })
  const [detached] = await store.rows<{ path: string }>({
    sql: `SELECT path FROM system.detached_parts WHERE ${ofTable} LIMIT 1`,
  })
  const path = detached?.path ?? ''
  const broken = join(dirname(path), `broken_${basename(path)}`)
  renameSync(path, broken)
  return broken
}

t.test('each part that was set aside names its remedy', async (t) => {
  const remedies = {
    usage_read: () => 'run tieline repair',
    billing_period_row: () => 'run tieline repair',
    bill_row: (path: string) =>
      `run tieline bill for its cycles and periods, then delete the folder ${path}`,
    tenancy: () => 'restore a backup',
  }
  for (const [table, remedyAt] of Object.entries(remedies)) {
    const path = await setAside(table)
    const [found, ...others] = await look()
    t.same(others, [])
    t.match(found, { kind: 'part', subject: `${table}/${basename(path)}` })
    t.equal(found?.detail.split('; ')[1], remedyAt(path))
    rmSync(path, { recursive: true })
    t.same(await look(), [], 'it is not reported any more')
  }
})

t.test('the guide lists every table that Tieline can make again', async (t) => {
  const created = (await readStatements(context.profile)).flatMap(
    (one) => /^CREATE TABLE IF NOT EXISTS \w+\.(\w+)/.exec(one)?.[1] ?? [],
  )
  const counted = countedTables.map(({ table }) => table)
  t.same(
    madeAgain.filter((table) => !created.includes(table) || counted.includes(table)),
    [],
  )
  const guide = readFileSync(join('infra', 'guides', 'run.md'), 'utf8')
  const rows = guide.split('\n').filter((row) => /^\| `.*\| (`tieline|restart|none)/.test(row))
  const named = rows.flatMap((row) => [
    ...row.matchAll(/`([a-z]+_[a-z_]*\*?|alert|healed|verification)`/g),
  ])
  const patterns = named.map(([, name = '']) => new RegExp(`^${name.replace('*', '\\w+')}$`))
  t.same(
    madeAgain.filter((table) => !patterns.some((pattern) => pattern.test(table))),
    [],
  )
})
