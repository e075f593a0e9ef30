import { randomUUID } from 'node:crypto'
import type { Store } from '../store/clickhouse.js'
import { type FileState, fromStateRow, type StateRow, toStateRow } from './file-state.js'

/** What a source or a person shows of a file before it is read. */
export interface Entry {
  readonly source: string
  readonly name: string
  readonly path: string
  readonly bytes: number
  readonly modifiedMs: number
  /** Load it although the same file is published already. */
  readonly force: boolean
  /** Publish its good rows however many are rejected: a person said so. */
  readonly acceptRejects?: boolean
}

export interface Arrival extends Entry {
  readonly arrival: number
  readonly arrivedAt: Date
}

export interface ChunkReceipt {
  readonly chunk: number
  readonly rowsRead: number
  readonly rowsAccepted: number
  readonly rowsRejected: number
  readonly quantityAccepted: string
  readonly quantityRejected: string
}

/**
 * The ledger in ClickHouse: what has arrived, how far each file has come and what each load put
 * where. Every row is durable before the call returns, and a repeated write changes nothing.
 */
export interface Ledger {
  /** Claims the next number for a file, by an id. Two claimers never get the same number. */
  claim(entry: Entry, id?: string): Promise<Arrival>
  /** What was claimed by an id. */
  claimedAs(id: string): Promise<Arrival | undefined>
  /** Claims numbers in a row for files that came together, all or none. */
  claimAll(entries: readonly Entry[]): Promise<readonly Arrival[]>
  /** What was claimed together with an arrival: without a state, and with one. */
  claimedWith(
    arrival: number,
  ): Promise<{ arrivals: readonly Arrival[]; states: readonly FileState[] }>
  arrival(arrival: number): Promise<Arrival | undefined>
  /** The latest arrival of a file at a path, or of a name. */
  latest(of: { readonly path: string } | { readonly name: string }): Promise<Arrival | undefined>
  /**
   * Arrivals by which a listing of a source is told from what is known: those that are not settled,
   * and the settled ones too where the source keeps them.
   */
  knownOf(source: { readonly name: string; readonly keeps: boolean }): Promise<readonly Arrival[]>
  /** Arrivals that no state was recorded for, and states that are not settled. */
  unfinished(): Promise<{ arrivals: readonly Arrival[]; states: readonly FileState[] }>
  state(arrival: number): Promise<FileState | undefined>
  /** Records states, all or none. */
  record(...states: readonly FileState[]): Promise<void>
  /** The published file of the same name and bytes, if there is one. */
  published(name: string, fileId: string): Promise<FileState | undefined>
  /** Whether a published file of that name and size might be the same. */
  resembles(name: string, bytes: number): Promise<boolean>
  receipts(arrival: number): Promise<readonly ChunkReceipt[]>
  recordReceipt(arrival: number, receipt: ChunkReceipt): Promise<void>
  forgetReceipts(arrival: number): Promise<void>
}

const claimAttemptsMax = 1_000

export function createLedger(store: Store, now: () => Date): Ledger {
  const states = async (where: string, parameters: Record<string, unknown>) => {
    const rows = await store.rows<StateRow>({
      sql: `SELECT * FROM file_state FINAL WHERE ${where} ORDER BY arrival`,
      parameters,
    })
    return rows.map(fromStateRow)
  }
  const arrivals = async (where: string, parameters: Record<string, unknown>) => {
    const rows = await store.rows<ArrivalRow>({
      sql: `SELECT * FROM arrival WHERE ${where} ORDER BY arrival`,
      parameters,
    })
    return rows.map(fromArrivalRow)
  }
  return {
    claim: async (entry, id) => (await claim(store, { entries: [entry], id, now }))[0] as Arrival,
    claimAll: (entries) => claim(store, { entries, now }),
    claimedAs: async (id) => (await arrivals('claim = {id:String}', { id }))[0],
    claimedWith: async (arrival) => {
      const same = `arrival IN (SELECT arrival FROM arrival WHERE claim =
        (SELECT any(claim) FROM arrival WHERE arrival = {arrival:UInt32}))`
      const stateless = 'arrival NOT IN (SELECT arrival FROM file_state)'
      const [unread, known] = await Promise.all([
        arrivals(`${same} AND ${stateless}`, { arrival }),
        states(same, { arrival }),
      ])
      return { arrivals: unread, states: known }
    },
    arrival: async (arrival) => (await arrivals('arrival = {arrival:UInt32}', { arrival }))[0],
    latest: async (of) => {
      const [column, value] = 'path' in of ? ['path', of.path] : ['name', of.name]
      return (await arrivals(`${column} = {value:String}`, { value })).at(-1)
    },
    knownOf: ({ name, keeps }) =>
      arrivals(
        `source = {name:String} AND arrival NOT IN (
          SELECT arrival FROM file_state
          WHERE settled_at IS NOT NULL AND (status = 'replaced' OR NOT {keeps:Bool}))`,
        { name, keeps },
      ),
    unfinished: async () => {
      const [unread, unsettled] = await Promise.all([
        arrivals('arrival NOT IN (SELECT arrival FROM file_state)', {}),
        states('settled_at IS NULL', {}),
      ])
      return { arrivals: unread, states: unsettled }
    },
    state: async (arrival) => (await states('arrival = {arrival:UInt32}', { arrival }))[0],
    record: (...states) => store.insert('file_state', states.map(toStateRow)),
    published: async (name, fileId) =>
      (
        await states(
          `status = 'published' AND file_name = {name:String} AND file_id = {fileId:String}`,
          { name, fileId },
        )
      )[0],
    resembles: async (name, bytes) => {
      const found = await states(
        `status = 'published' AND file_name = {name:String} AND bytes = {bytes:UInt64}`,
        { name, bytes },
      )
      return found.length > 0
    },
    receipts: async (arrival) => {
      const rows = await store.rows<ReceiptRow>({
        sql: 'SELECT * FROM chunk_receipt FINAL WHERE arrival = {arrival:UInt32} ORDER BY chunk',
        parameters: { arrival },
      })
      return rows.map(fromReceiptRow)
    },
    recordReceipt: (arrival, receipt) =>
      store.insert('chunk_receipt', [toReceiptRow(arrival, receipt)]),
    forgetReceipts: (arrival) =>
      store.command({
        sql: 'DELETE FROM chunk_receipt WHERE arrival = {arrival:UInt32}',
        parameters: { arrival },
      }),
  }
}

/**
 * Inserts a row with the next number under a token of that number: the engine keeps the first
 * insert of a token and drops all others, so reading it back tells whose the number is. Several rows
 * of one insert are there at once, so that nobody sees a number between them as the last.
 */
async function claim(
  store: Store,
  { entries, id = randomUUID(), now }: Claim,
): Promise<readonly Arrival[]> {
  for (let attempt = 0; attempt < claimAttemptsMax; attempt++) {
    const arrivedAt = now()
    const [last] = await store.rows<{ next: number }>({
      sql: 'SELECT toUInt32(max(arrival) + 1) AS next FROM arrival',
    })
    const first = last?.next ?? 1
    const claimed = entries.map((entry, at) => ({ ...entry, arrival: first + at, arrivedAt }))
    await store.insert(
      'arrival',
      claimed.map((arrival) => toArrivalRow(arrival, id)),
      { insert_deduplicate: 1, insert_deduplication_token: `arrival-${first}` },
    )
    const rows = await store.rows<ArrivalRow>({
      sql: `SELECT * FROM arrival WHERE arrival >= {first:UInt32} AND claim = {id:String}
        ORDER BY arrival`,
      parameters: { first, id },
    })
    if (rows.length > 0) return rows.map(fromArrivalRow)
  }
  throw new Error(`no arrival number could be claimed in ${claimAttemptsMax} attempts`)
}

interface Claim {
  readonly entries: readonly Entry[]
  readonly id?: string | undefined
  readonly now: () => Date
}

interface ArrivalRow {
  readonly arrival: number
  readonly source: string
  readonly name: string
  readonly path: string
  readonly bytes: string
  readonly modified_ms: string
  readonly force: boolean
  readonly accept_rejects: boolean
  readonly arrived_at: string
}

function fromArrivalRow(row: ArrivalRow): Arrival {
  return {
    arrival: row.arrival,
    source: row.source,
    name: row.name,
    path: row.path,
    bytes: Number(row.bytes),
    modifiedMs: Number(row.modified_ms),
    force: row.force,
    acceptRejects: row.accept_rejects,
    arrivedAt: new Date(`${row.arrived_at.replace(' ', 'T')}Z`),
  }
}

function toArrivalRow(arrival: Arrival, claim: string): object {
  return {
    arrival: arrival.arrival,
    claim,
    source: arrival.source,
    name: arrival.name,
    path: arrival.path,
    bytes: String(arrival.bytes),
    modified_ms: String(Math.trunc(arrival.modifiedMs)),
    force: arrival.force,
    accept_rejects: arrival.acceptRejects ?? false,
    arrived_at: arrival.arrivedAt.toISOString(),
  }
}

interface ReceiptRow {
  readonly chunk: number
  readonly rows_read: string
  readonly rows_accepted: string
  readonly rows_rejected: string
  readonly quantity_accepted: string
  readonly quantity_rejected: string
}

function fromReceiptRow(row: ReceiptRow): ChunkReceipt {
  return {
    chunk: row.chunk,
    rowsRead: Number(row.rows_read),
    rowsAccepted: Number(row.rows_accepted),
    rowsRejected: Number(row.rows_rejected),
    quantityAccepted: String(row.quantity_accepted),
    quantityRejected: String(row.quantity_rejected),
  }
}

function toReceiptRow(arrival: number, receipt: ChunkReceipt): object {
  return {
    arrival,
    chunk: receipt.chunk,
    rows_read: receipt.rowsRead,
    rows_accepted: receipt.rowsAccepted,
    rows_rejected: receipt.rowsRejected,
    quantity_accepted: receipt.quantityAccepted,
    quantity_rejected: receipt.quantityRejected,
  }
}
