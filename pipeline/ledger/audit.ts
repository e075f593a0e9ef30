import { createHash, randomUUID } from 'node:crypto'
import type { Store } from '../store/clickhouse.js'

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

const claimAttemptsMax = 1_000

/**
 * Writes acts down at the end of the log, durably, before they are carried out: what somebody did is
 * there even if nothing came of it. Any number of processes write without a lock, each claiming the
 * next number by an insert token, as arrivals are claimed.
 */
export async function recordActs(
  store: Store,
  { who, via }: Actor,
  all: readonly Act[],
): Promise<readonly Entry[]> {
  if (all.length === 0) return []
  const claim = randomUUID()
  for (let attempt = 0; attempt < claimAttemptsMax; attempt++) {
    const last = (await readEntries(store, { newest: 1 }))[0]
    const first = (last?.number ?? 0) + 1
    const at = new Date()
    const entries: Entry[] = []
    for (const act of all) {
      const before = entries.at(-1)?.hash ?? last?.hash ?? ''
      const unsealed = { number: first + entries.length, at, who, via, ...act, claim, before }
      entries.push({ ...unsealed, hash: hashOf(unsealed) })
    }
    await store.insert('audit_log', entries.map(toRow), {
      insert_deduplicate: 1,
      insert_deduplication_token: `audit-${first}`,
    })
    const [held] = await readEntries(store, { after: first - 1, max: 1 })
    if (held?.claim === claim) return entries
  }
  throw new Error(`no place in the audit log could be claimed in ${claimAttemptsMax} attempts`)
}

/** Writes one act down. */
export async function recordAct(store: Store, actor: Actor, act: Act): Promise<Entry> {
  const [entry] = await recordActs(store, actor, [act])
  return entry as Entry
}

type Page = { readonly newest: number } | { readonly after: number; readonly max: number }

/** The newest entries, newest first, or those behind a number in their order. */
export async function readEntries(store: Store, page: Page): Promise<readonly Entry[]> {
  const rows = await store.rows<Row>(
    'newest' in page
      ? {
          sql: 'SELECT * FROM audit_log ORDER BY number DESC LIMIT {newest:UInt32}',
          parameters: { ...page },
        }
      : {
          sql: `SELECT * FROM audit_log WHERE number > {after:UInt32}
            ORDER BY number LIMIT {max:UInt32}`,
          parameters: { ...page },
        },
  )
  return rows.map(fromRow)
}

/** The last entry of an act. */
export async function latestAct(store: Store, act: Act['act']): Promise<Entry | undefined> {
  const [row] = await store.rows<Row>({
    sql: 'SELECT * FROM audit_log WHERE act = {act:String} ORDER BY number DESC LIMIT 1',
    parameters: { act },
  })
  return row && fromRow(row)
}

/** Entries about a subject, the first 100 in their order. */
export async function readActsOn(
  store: Store,
  of: { readonly acts: readonly Act['act'][]; readonly subject: string },
): Promise<readonly Entry[]> {
  const rows = await store.rows<Row>({
    sql: `SELECT * FROM audit_log WHERE act IN {acts:Array(String)} AND subject = {subject:String}
      ORDER BY number LIMIT 100`,
    parameters: { ...of },
  })
  return rows.map(fromRow)
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
    sql: `SELECT number FROM audit_log WHERE number <= {last:UInt32}
      GROUP BY number HAVING number = 0 OR count() > 1 ORDER BY number LIMIT 1`,
    parameters: { last },
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

type Row = Omit<Entry, 'at'> & { readonly at: string }

function toRow({ at, ...rest }: Entry): Row {
  return { ...rest, at: at.toISOString() }
}

function fromRow({ at, ...rest }: Row): Entry {
  return { ...rest, at: new Date(`${at.replace(' ', 'T')}Z`) }
}
