import { createHash, randomUUID } from 'node:crypto'
import { claimNext } from '../store/claim.js'
import type { Store } from '../store/clickhouse.js'
import { createCodec, instant, plain, type Row } from '../store/columns.js'
import { type Sql, sql, typed } from '../store/sql.js'

/** What is written down when somebody does it. */
export const acts = ['retry', 'accept', 'register', 'unlock', 'bind', 'erase', 'profile'] as const

/** Who is doing something: a name that was proven, and the way that it came by. */
export interface Actor {
  readonly who: string
  readonly via: 'page' | 'command' | 'gateway' | 'worker'
}

/** What the service does of itself, by its profile. */
export const tieline: Actor = { who: 'tieline', via: 'worker' }

export interface Act {
  readonly act: (typeof acts)[number]
  /** What it is done to; never a person's name, an address or a secret. */
  readonly subject: string
  readonly detail: string
}

/** An act as it stands in the log. */
export interface Entry extends Actor, Act {
  readonly number: number
  readonly at: Date
  readonly claim: string
  /** Hash of the entry before, empty for the first. */
  readonly before: string
  readonly hash: string
}

/**
 * Appends acts to the log, durably, before they are carried out: an act is recorded even if it fails
 * later. Any number of processes append without a lock, as arrivals are claimed.
 */
export async function recordActs(
  store: Store,
  { who, via }: Actor,
  all: readonly Act[],
): Promise<readonly Entry[]> {
  if (all.length === 0) return []
  const claim = randomUUID()
  let entries: Entry[] = []
  await claimNext(store, 'audit_log', async () => {
    const last = (await readEntries(store, { newest: 1 }))[0]
    const first = (last?.number ?? 0) + 1
    const at = new Date()
    entries = []
    for (const act of all) {
      const before = entries.at(-1)?.hash ?? last?.hash ?? ''
      const unsealed = { number: first + entries.length, at, who, via, ...act, claim, before }
      entries.push({ ...unsealed, hash: hashOf(unsealed) })
    }
    const own = sql`SELECT 1 FROM audit_log WHERE number = ${first} AND claim = ${claim}`
    return { token: `audit-${first}`, rows: entries.map(codec.toRow), own }
  })
  return entries
}

/** Writes one act down. */
export async function recordAct(store: Store, actor: Actor, act: Act): Promise<Entry> {
  const [entry] = await recordActs(store, actor, [act])
  return entry as Entry
}

type Page = { readonly newest: number } | { readonly after: number; readonly max: number }

/** The newest entries, newest first, or those after a number in their order. */
export function readEntries(store: Store, page: Page): Promise<readonly Entry[]> {
  return select(
    store,
    'newest' in page
      ? sql`ORDER BY number DESC LIMIT ${typed('UInt32', page.newest)}`
      : sql`WHERE number > ${page.after} ORDER BY number LIMIT ${typed('UInt32', page.max)}`,
  )
}

/** The last entry of an act. */
export async function latestAct(store: Store, act: Act['act']): Promise<Entry | undefined> {
  return (await select(store, sql`WHERE act = ${act} ORDER BY number DESC LIMIT 1`))[0]
}

/** Entries about a subject, the first 100 in their order. */
export function readActsOn(
  store: Store,
  { acts, subject }: { readonly acts: readonly Act['act'][]; readonly subject: string },
): Promise<readonly Entry[]> {
  return select(store, sql`WHERE act IN ${acts} AND subject = ${subject} ORDER BY number LIMIT 100`)
}

async function select(store: Store, which: Sql): Promise<readonly Entry[]> {
  const rows = await store.rows<Row>({ sql: sql`SELECT * FROM audit_log ${which}` })
  return rows.map(codec.fromRow)
}

export interface Chain {
  readonly entries: number
  /** Of the last entry; who keeps it elsewhere sees whether the end was cut off. */
  readonly hash: string
  /** The first entry that is not what it was written as, with what is wrong. */
  readonly broken?: { readonly number: number; readonly what: string }
}

const entriesAtOnce = 10_000

/** Follows the log from its first entry to its last, or to the first that is not as it was written. */
export async function followChain(store: Store): Promise<Chain> {
  let last: Pick<Entry, 'number' | 'hash'> = { number: 0, hash: '' }
  for (;;) {
    const entries = await readEntries(store, { after: last.number, max: entriesAtOnce })
    for (const entry of entries) {
      const what = breachOf(entry, last)
      const broken = { number: entry.number, what: what ?? '' }
      if (what !== undefined) return { entries: last.number, hash: last.hash, broken }
      last = entry
    }
    if (entries.length === entriesAtOnce) continue
    const chain = { entries: last.number, hash: last.hash }
    const beside = await findBeside(store, last.number)
    return beside === undefined ? chain : { ...chain, broken: beside }
  }
}

/** An entry that the way from one to the next passes by: numbered 0, or the second of a number. */
async function findBeside(store: Store, last: number): Promise<Chain['broken']> {
  const [beside] = await store.rows<{ number: number }>({
    sql: sql`SELECT number FROM audit_log WHERE number <= ${last}
      GROUP BY number HAVING number = 0 OR count() > 1 ORDER BY number LIMIT 1`,
  })
  if (beside === undefined) return undefined
  const what = beside.number === 0 ? 'stands before the first' : 'stands there twice'
  return { number: beside.number, what }
}

function breachOf(entry: Entry, last: Pick<Entry, 'number' | 'hash'>): string | undefined {
  if (entry.number === last.number) return 'stands there twice'
  if (entry.number !== last.number + 1) return `follows entry ${last.number}: one is missing`
  if (entry.before !== last.hash) return 'does not hold the hash of the entry before'
  return hashOf(entry) === entry.hash ? undefined : 'was changed: its hash is of something else'
}

function hashOf({
  number,
  at,
  who,
  via,
  act,
  subject,
  detail,
  claim,
  before,
}: Omit<Entry, 'hash'>) {
  const parts = [number, at.toISOString(), who, via, act, subject, detail, claim, before]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

const codec = createCodec<Entry>({
  number: plain(),
  at: instant,
  who: plain(),
  via: plain(),
  act: plain(),
  subject: plain(),
  detail: plain(),
  claim: plain(),
  before: plain(),
  hash: plain(),
})
