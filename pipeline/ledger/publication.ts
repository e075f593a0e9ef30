import { randomUUID } from 'node:crypto'
import { claimNext } from '../store/claim.js'
import type { Store } from '../store/clickhouse.js'
import type { RowReader } from '../store/replicas.js'
import { sql, typed } from '../store/sql.js'

/** What becomes visible under a number of its own. */
export type Subject =
  | {
      readonly kind: 'file'
      readonly arrival: number
      readonly fileId: string
      /** Whether it stores earlier reads under another length. */
      readonly rekeys?: boolean
    }
  | { readonly kind: 'bills' | 'comparison'; readonly run: string }
  /** A change of what clients see, or held reads that a registration has claimed. */
  | { readonly kind: 'change' | 'claim'; readonly change: string }

export interface Publication {
  /** 1, 2, 3 ... without a gap, in the order in which readers see publications. */
  readonly seq: number
  /** Later than that of all earlier calls, whatever the clock says; the same within a call. */
  readonly at: Date
  readonly arrival: number
}

/** What publishing works with; a `PipelineContext` is one. */
export interface Publisher {
  readonly store: Store
  readonly now: () => Date
}

/**
 * Makes subjects visible, all in one insert. The insert that takes a number is what readers look at:
 * no number is taken without being visible, so numbers become visible in their order, whoever dies.
 * A file is published once; a repeated call returns the publication that it has.
 */
export async function publishSubjects(
  publisher: Publisher,
  subjects: readonly Subject[],
  seen?: Seen,
): Promise<readonly Publication[]> {
  const before = turns.get(publisher.store)
  const own = (before ?? Promise.resolve()).then(() => publishNow(publisher, subjects, seen))
  turns.set(
    publisher.store,
    own.catch(() => undefined),
  )
  return own
}

/** Within a process callers take turns, since of those who bid for one number all but one are in vain. */
const turns = new WeakMap<Store, Promise<unknown>>()

/** What a bid for a number rests on. */
export interface Seen {
  readonly last: { readonly seq: number; readonly at: number }
  /** Whether the files have a number already. */
  readonly hasNumber: boolean
}

/**
 * Looks before a bid: the last number first. Whoever publishes one of the files after the second look takes
 * the next number, for which a bid then comes too late: so a look may be as old as it likes.
 */
export async function lookForNumber(store: Store, arrivals: readonly number[]): Promise<Seen> {
  const last = await readLast(store)
  return { last, hasNumber: arrivals.length > 0 && (await arePublished(store, arrivals)) }
}

async function publishNow(
  { store, now }: Publisher,
  subjects: readonly Subject[],
  seen: Seen | undefined,
): Promise<readonly Publication[]> {
  const arrivals = subjects.flatMap((one) => (one.kind === 'file' ? [one.arrival] : []))
  const claim = randomUUID()
  let early = seen
  const rows = await claimNext<PublicationRow>(store, 'publication', async () => {
    const { last, hasNumber } = early ?? (await lookForNumber(store, arrivals))
    early = undefined
    if (hasNumber) return { token: '', rows: [], own: published(arrivals) }
    const own = sql`SELECT ${columns} FROM publication
      WHERE published_seq > ${last.seq} AND claim = ${claim} ORDER BY published_seq`
    const published_at = new Date(Math.max(now().getTime(), last.at + 1)).toISOString()
    const numbered = subjects.map((subject, index) => {
      return { ...toRow(subject), published_seq: last.seq + 1 + index, published_at, claim }
    })
    return { token: `publication-${last.seq + 1}`, rows: numbered, own }
  })
  return rows.map(({ seq, at, arrival }) => {
    return { seq: Number(seq), at: new Date(Number(at)), arrival }
  })
}

/** Whether a file has a number, also where its worker died before the ledger said so. */
export function isPublished(store: Store, arrival: number): Promise<boolean> {
  return arePublished(store, [arrival])
}

async function arePublished(store: Store, arrivals: readonly number[]): Promise<boolean> {
  return (await store.rows({ sql: published(arrivals) })).length > 0
}

interface PublicationRow {
  readonly seq: string
  readonly at: string
  readonly arrival: number
}

const columns = sql`toString(published_seq) AS seq,
  toString(toUnixTimestamp64Milli(published_at)) AS at, arrival`

const published = (arrivals: readonly number[]) =>
  sql`SELECT ${columns} FROM publication
    WHERE arrival IN ${typed('Array(UInt32)', arrivals)} ORDER BY published_seq`

/** The number of the latest publication, and its time; the order of the table finds it at once. */
export async function readLast(
  store: RowReader,
): Promise<{ readonly seq: number; readonly at: number }> {
  const [row] = await store.rows<{ seq: string; at: string }>({
    sql: sql`SELECT ${columns} FROM publication AS p ORDER BY p.published_seq DESC LIMIT 1`,
  })
  return { seq: Number(row?.seq ?? 0), at: Number(row?.at ?? 0) }
}

function toRow(subject: Subject): object {
  if (subject.kind !== 'file') return subject
  const { kind, arrival, fileId, rekeys = false } = subject
  return { kind, arrival, file_id: fileId, change: arrival, rekeys }
}
