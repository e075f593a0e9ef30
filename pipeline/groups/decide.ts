import { Fault } from '../../schemas/fault.js'
import { balance } from '../../schemas/receipt.js'
import { intervalEnd } from '../../schemas/time/read-timestamp.js'
import type { PipelineContext } from '../context.js'
import type { FileState } from '../ledger/file-state.js'
import { addQuantities, type Counted, noneCounted, subtractQuantities } from '../ledger/sums.js'
import { noteLengths, withOutcomes } from '../ledger/verdict.js'
import type { Store } from '../store/clickhouse.js'
import { id, literal, sql } from '../store/sql.js'
import { createReads, derivedOf } from '../store/staging.js'
import { arrivalOf } from '../store/versions.js'
import { foreignReads, keepRegistered, moveOf } from '../usage/classify.js'
import { findDays } from '../usage/days/find.js'
import { takenByArrival } from '../usage/from-store.js'
import { gridOf, type StagingTotals, totalShapes } from '../usage/irregular-meters.js'
import { countChanged } from '../usage/lengths/changed.js'
import { findProved, mayProve } from '../usage/lengths/rekey.js'
import { repairMeters, unusableArrivals } from '../usage/lengths/repairs.js'
import { findLengths } from '../usage/lengths/settle.js'
import { endingArrivals } from '../usage/moves/ended.js'
import { overlappingArrivals } from '../usage/overlap.js'
import { createWhole, isStagingLost, linkWhole, proveRows } from '../whole.js'

/**
 * Decides the files of a group together, in statements about all of them. A meter is in one file only,
 * so each is judged as if its file were alone. A file that needs more leaves the group without a verdict
 * and is loaded by itself: rows that are rejected or there twice, reads that the store has already. So
 * do all of them where their common staging is gone.
 */
export async function decideGroup(
  context: PipelineContext,
  members: readonly FileState[],
): Promise<readonly FileState[]> {
  try {
    return await decideStaged(context, members)
  } catch (error) {
    if (!isStagingLost(error)) throw error
    return members.map((state) => ({ ...state, groupId: 0 }))
  }
}

async function decideStaged(
  context: PipelineContext,
  members: readonly FileState[],
): Promise<readonly FileState[]> {
  const [first] = members as readonly [FileState, ...FileState[]]
  const { store } = context
  const union = { ...first, arrival: first.groupId }
  await createWhole(store, union)
  const reads = await linkWhole(store, union)
  const staged = await sharesOf(store, reads)
  const leaving = await findUnproved(context, members, { table: reads, staged })
  const settled = await settleGroup(context, union)
  const { table, totals, provisional, unusable, proving, fromStore } = settled
  const usable = table === reads ? staged : await sharesOf(store, table)
  const guessed = sumOf(provisional)
  const isForeign = await foreignReads(context, table)
  const kept = { table, totals: { ...totals, rows: rowsOf(usable) }, provisional: guessed }
  const { table: own, ended = 0 } = await keepRegistered(context, union, { ...kept, isForeign })
  const overlapping = await findKnown(context, union, { table: own, totals })
  const ending = ended > 0 ? await endingArrivals(store, union) : []
  for (const one of [...unusable, ...proving, ...overlapping, ...ending]) leaving.add(one)
  const staying = members.filter(({ arrival }) => !leaving.has(arrival))
  if (staying.length === 0) return members.map((state) => ({ ...state, groupId: 0 }))
  const registered = own === table ? usable : await sharesOf(store, own)
  const attaches = await keepOnly(store, union, { table: own, members: staying })
  const accepted = new Map(
    staying.map((one) => [one.arrival, registered.get(one.arrival) ?? noShare]),
  )
  await proveRows(store, attaches, rowsOf(accepted))
  const { arrival, feed } = union
  const changed = await countChanged(store, { arrival, feed, table, ...totals })
  return members.map((state) => {
    if (!staying.includes(state)) return { ...state, groupId: 0 }
    const lengths = {
      rejected: 0,
      changed: changed.find((one) => one.arrival === state.arrival)?.meters ?? 0,
      provisional: provisional.get(state.arrival) ?? 0,
    }
    const taken = { fromStore: fromStore.get(state.arrival) ?? '' }
    const judged = { ...state, attaches, notes: { ...noteLengths(state.notes, lengths), ...taken } }
    return toVerdict(context, judged, {
      usable: usable.get(state.arrival) ?? noShare,
      accepted: accepted.get(state.arrival) ?? noShare,
    })
  })
}

/** The files whose staged rows are not the rows that came in, and those whose name was published meanwhile. */
async function findUnproved(
  { store, ledger }: PipelineContext,
  members: readonly FileState[],
  { table, staged }: { readonly table: string; readonly staged: Shares },
): Promise<Set<number>> {
  const names = await ledger.publishedNames(members.map(({ fileName }) => fileName))
  const unproved = members.filter(({ arrival, fileName, rows, quantity }) => {
    const { rows: found, quantity: sum } = staged.get(arrival) ?? noShare
    return found !== rows.read || addQuantities(sum) !== quantity.read || names.has(fileName)
  })
  const shared = await store.rows<{ found: number }>({
    sql: sql`SELECT DISTINCT arrayJoin(arrivals) AS found FROM (
      SELECT groupUniqArray(${arrivalOf}) AS arrivals FROM ${id(table)}
      GROUP BY meter_id HAVING length(arrivals) > 1)`,
  })
  return new Set([...unproved.map(({ arrival }) => arrival), ...shared.map(({ found }) => found)])
}

interface Settled {
  /** The rows with their real lengths. */
  readonly table: string
  readonly totals: StagingTotals
  /** Meters of each arrival whose length nothing proves yet. */
  readonly provisional: ReadonlyMap<number, number>
  /** Arrivals with rows of a length that is not usable; these are not in the table. */
  readonly unusable: readonly number[]
  /** Arrivals that prove a length of stored reads. */
  readonly proving: readonly number[]
  /** What each arrival took from the stored reads. */
  readonly fromStore: ReadonlyMap<number, string>
}

async function settleGroup(context: PipelineContext, union: FileState): Promise<Settled> {
  const { store } = context
  const { whole: reads, fixed } = derivedOf(union)
  const grid = gridOf(context.profile, union.manifest)
  const totals = await totalShapes(store, { ...union, table: reads }, grid)
  const meters = new Set<string>()
  const onProvisional = (meterId: string) => meters.add(meterId)
  const { repairs, unproved } = await findLengths(context, union, { totals, onProvisional })
  const provisional = await countByArrival(store, reads, meters)
  if (repairs === 0) {
    const found = { table: reads, totals, provisional, unusable: [], fromStore: new Map() }
    return { ...found, proving: await provingArrivals(context, union, { ...found, unproved }) }
  }
  const guessed = meters.size === 0 ? {} : { provisionalMeters: meters.size }
  const fromStore = await takenByArrival(store, { ...union, notes: guessed })
  const unusable = await unusableArrivals(store, { ...union, grid })
  await repairMeters(store, { ...union, grid }, moveOf(context, union))
  const moved = await totalShapes(store, { ...union, table: fixed }, grid)
  const found = { table: fixed, totals: moved, provisional, unusable, fromStore }
  return { ...found, proving: await provingArrivals(context, union, { ...found, unproved }) }
}

/** Meters of all arrivals whose length is provisional. */
function sumOf(provisional: Settled['provisional']): number {
  return [...provisional.values()].reduce((sum, meters) => sum + meters, 0)
}

async function provingArrivals(
  context: PipelineContext,
  union: FileState,
  { table, totals, unproved }: Pick<Settled, 'table' | 'totals'> & { readonly unproved: number },
): Promise<readonly number[]> {
  if (!mayProve(totals, unproved)) return []
  const reads = await findProved(context, union, table)
  if (reads === undefined) return []
  const meters = reads.meters.map(({ meterId }) => meterId)
  const rows = await context.store.rows<{ found: number }>({
    sql: sql`SELECT DISTINCT ${arrivalOf} AS found FROM ${id(table)} WHERE meter_id IN ${literal(meters)}`,
  })
  return rows.map(({ found }) => found)
}

async function countByArrival(
  store: Store,
  table: string,
  meters: ReadonlySet<string>,
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>()
  if (meters.size === 0) return counts
  const rows = await store.rows<{ meter: string; found: number }>({
    sql: sql`SELECT meter_id AS meter, max(${arrivalOf}) AS found FROM ${id(table)} GROUP BY meter_id`,
  })
  for (const { meter, found } of rows) {
    if (meters.has(meter)) counts.set(found, (counts.get(found) ?? 0) + 1)
  }
  return counts
}

/** The arrivals of rows that are in the table twice, or of which the store has a read already. */
async function findKnown(
  { store }: PipelineContext,
  union: FileState,
  { table, totals }: { readonly table: string; readonly totals: StagingTotals },
): Promise<readonly number[]> {
  const repeated = await store.rows<{ found: number }>({
    sql: sql`SELECT DISTINCT arrayJoin(groupUniqArray(${arrivalOf})) AS found FROM ${id(table)}
      GROUP BY local_day, meter_id, starts_at, seconds HAVING count() > 1`,
  })
  const twice = repeated.map(({ found }) => found)
  const days = await findDays(store, totals)
  if (days === 'none') return twice
  const { arrival: order } = union
  const staged = { ...union, ...totals, order, table, repeats: false, isSparse: days === 'many' }
  return [...twice, ...(await overlappingArrivals(store, staged))]
}

/** The table with the rows of some members only: the same one, where it has no others. */
async function keepOnly(
  store: Store,
  union: FileState,
  { table, members }: { readonly table: string; readonly members: readonly FileState[] },
): Promise<string> {
  const kept = sql`${arrivalOf} IN ${literal(members.map(({ arrival }) => arrival))}`
  const others = await store.rows({
    sql: sql`SELECT 1 FROM ${id(table)} WHERE NOT ${kept} LIMIT 1`,
  })
  if (others.length === 0) return table
  const { final } = derivedOf(union)
  await store.command(createReads(final, 'replace'))
  await store.command({
    sql: sql`INSERT INTO ${id(final)} SELECT * FROM ${id(table)} WHERE ${kept}`,
    settings: { optimize_on_insert: 0 },
  })
  return final
}

/** The rows of one file in a table of its group. */
interface Share extends Counted {
  readonly meters: number
  /** Epoch seconds. */
  readonly first: number
  /** The last start of each length, epoch seconds. */
  readonly lasts: readonly (readonly [seconds: number, start: number])[]
}

/** Those of a table by arrival. */
type Shares = ReadonlyMap<number, Share>

const rowsOf = (shares: Shares): number =>
  [...shares.values()].reduce((sum, { rows }) => sum + rows, 0)

const noShare: Share = { ...noneCounted, meters: 0, first: 0, lasts: [] }

async function sharesOf(store: Store, table: string): Promise<Shares> {
  const rows = await store.rows<{
    found: number
    rows: string
    quantity: string
    meters: string
    first: number
    lasts: readonly [number, number][]
  }>({
    sql: sql`SELECT found, sum(n) AS rows, toString(sum(total)) AS quantity,
        uniqExactMerge(metered) AS meters, min(earliest) AS first, groupArray((seconds, latest)) AS lasts
      FROM (
        SELECT ${arrivalOf} AS found, seconds, count() AS n, sum(quantity) AS total,
          uniqExactState(meter_id) AS metered, toUnixTimestamp(min(starts_at)) AS earliest,
          toUnixTimestamp(max(starts_at)) AS latest
        FROM ${id(table)} GROUP BY found, seconds
      ) GROUP BY found`,
  })
  return new Map(
    rows.map(({ found, ...share }) => {
      return [found, { ...share, rows: Number(share.rows), meters: Number(share.meters) }]
    }),
  )
}

function toVerdict(
  { zone }: PipelineContext,
  state: FileState,
  { usable, accepted }: { readonly usable: Share; readonly accepted: Share },
): FileState {
  const { rows, quantity, meters, first, lasts } = accepted
  const unregistered = {
    rows: usable.rows - rows,
    quantity: subtractQuantities(usable.quantity, quantity),
  }
  const ends = lasts.map(([seconds, start]) => intervalEnd(start, seconds, zone))
  const verdict: FileState = {
    ...withOutcomes(state, { accepted: { rows, quantity }, unregistered }),
    status: 'publishing',
    meters,
    firstIntervalStart: rows === 0 ? undefined : new Date(first * 1_000),
    lastIntervalEnd: rows === 0 ? undefined : new Date(Math.max(...ends) * 1_000),
  }
  if (balance(verdict)) return verdict
  const found = JSON.stringify({ rows: verdict.rows, quantity: verdict.quantity })
  throw new Fault('UNBALANCED', `the outcomes of ${state.fileName} do not add up: ${found}`)
}
