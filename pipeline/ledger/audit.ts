import { createHash, randomUUID } from 'node:crypto'
import { claimNext } from '../store/claim.js'
import type { Store } from '../store/clickhouse.js'
import { createCodec, dateTime, plain, type Row } from '../store/columns.js'
import { type Sql, sql, typed } from '../store/sql.js'

/** The acts that are recorded. */
export const acts = [
  'retry',
  'accept',
  'repair',
  'register',
  'unregister',
  'unlock',
  'bind',
  'erase',
  'profile',
  'reader',
  'dismiss',
  'forget',
] as const

/** Who acts: an authenticated name, and the way in. */
export interface Actor {
  readonly who: string
  readonly via: 'page' | 'command' | 'gateway' | 'worker'
}

/** The service itself, acting by its profile. */
export const tieline: Actor = { who: 'tieline', via: 'worker' }

export interface Act {
  readonly act: (typeof acts)[number]
  /** The object of the act; never a person's name, an address or a secret. */
  readonly subject: string
  readonly detail: string
}

/** An act in the log. */
export interface AuditEntry extends Actor, Act {
  readonly number: number
  readonly at: Date
  readonly claim: string
  /** Hash of the previous entry, empty for the first. */
  readonly before: string
  readonly hash: string
}

/**
 * Appends acts to the log, durably, before they are carried out: an act is recorded even if it fails
 * later. Any number of processes append without a lock, as arrivals are claimed.
 */
export async function recordActs(
  store: Store,
  all: readonly (Actor & Act)[],
): Promise<readonly AuditEntry[]> {
  if (all.length === 0) return []
  const claim = randomUUID()
  const rows = await claimNext<Row>(store, 'audit_log', async () => {
    const last = (await readEntries(store, { newest: 1 }))[0]
    const first = (last?.number ?? 0) + 1
    const at = new Date()
    const entries: AuditEntry[] = []
    for (const act of all) {
      const before = entries.at(-1)?.hash ?? last?.hash ?? ''
      const unsealed = { number: first + entries.length, at, ...act, claim, before }
      entries.push({ ...unsealed, hash: hashOf(unsealed) })
    }
    const own = sql`SELECT * FROM audit_log WHERE number >= ${first} AND claim = ${claim} ORDER BY number`
    return { token: `audit-${first}`, rows: entries.map(codec.toRow), own }
  })
  return rows.map(codec.fromRow)
}

/** Records one act. */
export async function recordAct(store: Store, actor: Actor, act: Act): Promise<AuditEntry> {
  const [entry] = await recordActs(store, [{ ...actor, ...act }])
  return entry as AuditEntry
}

type Page = { readonly newest: number } | { readonly after: number; readonly max: number }

/** The newest entries, newest first, or those after a number in their order; all of one number come together. */
function readEntries(store: Store, page: Page): Promise<readonly AuditEntry[]> {
  return select(
    store,
    'newest' in page
      ? sql`ORDER BY number DESC LIMIT ${typed('UInt32', page.newest)}`
      : sql`WHERE number > ${page.after} ORDER BY number
          LIMIT ${typed('UInt32', page.max)} WITH TIES`,
  )
}

/** The last entry of an act. */
export async function latestAct(store: Store, act: Act['act']): Promise<AuditEntry | undefined> {
  return (await select(store, sql`WHERE act = ${act} ORDER BY number DESC LIMIT 1`))[0]
}

/** Entries about a subject, the first 100 in their order. */
export function readActsOn(
  store: Store,
  { acts, subject }: { readonly acts: readonly Act['act'][]; readonly subject: string },
): Promise<readonly AuditEntry[]> {
  return select(store, sql`WHERE act IN ${acts} AND subject = ${subject} ORDER BY number LIMIT 100`)
}

async function select(store: Store, which: Sql): Promise<readonly AuditEntry[]> {
  const rows = await store.rows<Row>({ sql: sql`SELECT * FROM audit_log ${which}` })
  return rows.map(codec.fromRow)
}

export interface Chain {
  readonly entries: number
  /** Of the last entry; a copy kept elsewhere detects truncation. */
  readonly hash: string
  /** The first entry that was changed, and how. */
  readonly broken?: { readonly number: number; readonly what: string }
}

const entriesAtOnce = 10_000

/** Verifies the log from its first entry to its last, or to the first that was changed. */
export async function followChain(store: Store): Promise<Chain> {
  let last: Pick<AuditEntry, 'number' | 'hash'> = { number: 0, hash: '' }
  for (;;) {
    const entries = await readEntries(store, { after: last.number, max: entriesAtOnce })
    for (const [at, entry] of entries.entries()) {
      const isTwice = entry.number === entries[at + 1]?.number
      const what = isTwice ? 'exists twice' : breachOf(entry, last)
      const broken = { number: entry.number, what: what ?? '' }
      if (what !== undefined) return { entries: last.number, hash: last.hash, broken }
      last = entry
    }
    if (entries.length >= entriesAtOnce) continue
    const chain = { entries: last.number, hash: last.hash }
    const before = await store.rows({ sql: sql`SELECT 1 FROM audit_log WHERE number = 0 LIMIT 1` })
    if (before.length === 0) return chain
    return { ...chain, broken: { number: 0, what: 'is before the first' } }
  }
}

function breachOf(
  entry: AuditEntry,
  last: Pick<AuditEntry, 'number' | 'hash'>,
): string | undefined {
  if (entry.number !== last.number + 1) return `follows entry ${last.number}: one is missing`
  if (entry.before !== last.hash) return 'does not contain the hash of the previous entry'
  return hashOf(entry) === entry.hash ? undefined : 'was changed: its hash does not match'
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
}: Omit<AuditEntry, 'hash'>) {
  const parts = [number, at.toISOString(), who, via, act, subject, detail, claim, before]
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex')
}

const codec = createCodec<AuditEntry>({
  number: plain(),
  at: dateTime,
  who: plain(),
  via: plain(),
  act: plain(),
  subject: plain(),
  detail: plain(),
  claim: plain(),
  before: plain(),
  hash: plain(),
})
