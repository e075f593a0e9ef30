import { formatQuantity } from '../../../schemas/quantity.js'
import type { Rig } from '../../rig.js'
import type { SentFile } from '../actors/feeder.js'
import type { CustomerCalls } from '../actors/registrar.js'
import { type ExpectedReceipt, type Published, replay } from '../replay.js'
import type { RowSum, Value } from '../sums.js'
import { compareOwners, type Ownership } from './owners.js'
import { isKept, receiptOf } from './receipts.js'
import { lines } from './rows.js'

export interface Comparison extends Ownership {
  rowsLost: number
  rowsDoubled: number
  /** Rows that are there with another quantity, account or site than the latest arrival's. */
  rowsAltered: number
  /** Corrected reads that `usage_restatement` does not have, and what it has beyond them. */
  restatementsMissing: number
  restatementsExtra: number
  /** Reads that a file of the run corrected, or came too late to, and rows that were duplicate. */
  corrections: number
  late: number
  repeats: number
  readonly filesUnfinished: string[]
  /** Files whose receipt or stored rows have other counts or energy than the rules give them. */
  readonly filesUnbalanced: string[]
}

export interface Arrived {
  readonly arrival: number
  readonly file_name: string
  readonly source: string
  readonly status: string
  readonly settled: number
  /** What the ledger says of rows and quantity, in the words of `recorded`. */
  readonly recorded: string
}

/** Holds the store of each server against what the files give; what is wrong on several counts again. */
export async function compareEach(
  rigs: readonly Rig[],
  files: readonly SentFile[],
  registrar: CustomerCalls,
): Promise<Comparison> {
  // One after the other: a replay keeps this process busy, and a server cuts silent connections.
  const compared: Comparison[] = []
  for (const rig of rigs) compared.push(await compareWithReplay(rig, files, registrar))
  const [first, ...others] = compared
  const sum = first as Comparison
  for (const other of others) {
    for (const [name, value] of Object.entries(other)) {
      const known = sum[name as keyof Comparison]
      if (Array.isArray(known)) known.push(...value)
      else if (!isOfFiles.has(name)) Object.assign(sum, { [name]: Number(known) + value })
    }
  }
  return sum
}

/** Counts of what was sent, which do not depend on a server. */
const isOfFiles: ReadonlySet<string> = new Set(['corrections', 'late', 'repeats'])

/** Holds the store against what the files give by the rules, row by row, and the ledger file by file. */
async function compareWithReplay(
  rig: Rig,
  files: readonly SentFile[],
  registrar: CustomerCalls,
): Promise<Comparison> {
  const found: Comparison = {
    rowsLost: 0,
    rowsDoubled: 0,
    rowsAltered: 0,
    restatementsMissing: 0,
    restatementsExtra: 0,
    corrections: 0,
    late: 0,
    repeats: 0,
    ownersWrong: 0,
    tenanciesWrong: [],
    filesUnfinished: [],
    filesUnbalanced: [],
  }
  const arrivals = await arrivalsOf(rig)
  for (const file of files) compareEnded(found, file, arrivals)
  for (const family of new Set(files.map((file) => file.family))) {
    const own = files.filter((file) => file.family === family)
    const published = publishedOf(own, arrivals)
    const { outcomes, reads, restatements } = replay(published)
    for (const outcome of outcomes) compareReceipt(rig, found, { outcome, arrivals })
    found.corrections += outcomes.reduce((sum, { restated }) => sum + restated.rows, 0)
    found.late += outcomes.reduce((sum, { late }) => sum + late, 0)
    found.repeats += outcomes.reduce((sum, { duplicate }) => sum + duplicate.rows, 0)
    const first = own[0]
    if (first === undefined) continue
    await compareReads(rig, found, { first, reads })
    await compareRestatements(rig, found, { first, restatements })
    await compareOwners(rig, found, { registered: registrar.ofFamily(family), reads })
  }
  return found
}

/** All arrivals, those that were published in the order in which they were. */
export function arrivalsOf(rig: Rig): Promise<readonly Arrived[]> {
  const sum = (kind: string) => `rows_${kind}, ' ', toString(quantity_${kind})`
  const kinds = ['read', 'accepted', 'duplicate', 'superseded', 'rejected']
  const recorded = [...kinds.map(sum), `restated_rows, ' ', toString(restated_net_quantity)`]
  return rig.store.rows<Arrived>({
    sql: `SELECT a.arrival AS arrival, a.name AS file_name, a.source AS source, s.status AS status,
        s.settled_at IS NOT NULL AS settled, concat(${recorded.join(`, ', ', `)}) AS recorded
      FROM arrival AS a LEFT JOIN (SELECT * FROM file_state FINAL) AS s ON s.arrival = a.arrival
      ORDER BY s.published_at, arrival`,
  })
}

/** Every file must be acknowledged, and every arrival of it have ended, one of them published. */
function compareEnded(found: Comparison, file: SentFile, arrivals: readonly Arrived[]): void {
  if (!file.isAcknowledged) found.filesUnfinished.push(`${file.name}: not acknowledged`)
  const ours = arrivals.filter((one) => one.file_name === file.name)
  const ended = ours.filter((one) => one.settled === 1)
  const published = ours.filter((one) => one.status === 'published')
  if (published.length === 1 && ended.length === ours.length) return
  const shown = ours.map((one) => `${one.arrival} ${one.status || 'without state'}`)
  found.filesUnfinished.push(`${file.name}: ${shown.join(', ') || 'never arrived'}`)
}

function publishedOf(
  files: readonly SentFile[],
  arrivals: readonly Arrived[],
): readonly Published[] {
  return arrivals
    .filter(({ status }) => status === 'published')
    .flatMap(({ arrival, file_name }) =>
      files.filter((file) => file.name === file_name).map((file) => ({ arrival, file })),
    )
}

/** The ledger and the receipt must say what is due, and the file be kept. */
function compareReceipt(
  rig: Rig,
  found: Comparison,
  of: { readonly outcome: ExpectedReceipt; readonly arrivals: readonly Arrived[] },
): void {
  const { outcome, arrivals } = of
  const { arrival, read, accepted, duplicate, superseded, rejected, restated, file } = outcome
  const say = (sum: RowSum) => `${sum.rows} ${formatQuantity(sum.micros)}`
  const due = [read, accepted, duplicate, superseded, rejected, restated].map(say).join(', ')
  const { recorded = '', source = '' } = arrivals.find((one) => one.arrival === arrival) ?? {}
  for (const said of [recorded, receiptOf(rig, arrival, file.name)]) {
    if (said === due) continue
    found.filesUnbalanced.push(`${file.name} ${arrival}: recorded ${said}; due ${due}`)
  }
  if (isKept(rig, source, { arrival, fileName: file.name })) return
  found.filesUnfinished.push(`${file.name} ${arrival}: not in the archive`)
}

async function compareReads(
  rig: Rig,
  found: Comparison,
  { first, reads }: { first: SentFile; reads: ReadonlyMap<string, Value> },
): Promise<void> {
  const left = new Map(reads)
  let previous = ''
  const columns = ['account_number', 'external_site_id', 'toInt64(quantity * 1000000)']
  for await (const [key, ...values] of lines(rig, { first, view: 'usage', columns })) {
    const due = reads.get(key)
    const text = due && [due.accountNumber, due.externalSiteId, due.micros].join('\t')
    if (key === previous) found.rowsDoubled++
    else if (text !== values.join('\t')) found.rowsAltered++
    left.delete(key)
    previous = key
  }
  found.rowsLost += left.size
}

async function compareRestatements(
  rig: Rig,
  found: Comparison,
  { first, restatements }: { first: SentFile; restatements: readonly string[] },
): Promise<void> {
  const due = new Map<string, number>()
  for (const one of restatements) due.set(one, (due.get(one) ?? 0) + 1)
  const micros = (name: string) => `toInt64(${name}_quantity * 1000000)`
  const columns = [micros('old'), micros('new'), 'old_file_id', 'new_file_id']
  for await (const one of lines(rig, { first, view: 'usage_restatement', columns })) {
    const text = one.join('\t')
    const count = due.get(text) ?? 0
    if (count === 0) found.restatementsExtra++
    else due.set(text, count - 1)
  }
  for (const count of due.values()) found.restatementsMissing += count
}
