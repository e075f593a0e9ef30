import { formatQuantity } from '../../schemas/quantity.js'
import { lengthsOf, timesOf } from '../../schemas/settings/profile.js'
import type { PipelineContext } from '../context.js'
import { learnAccounts } from '../customers/registrations.js'
import { warnOfRenumbering } from '../customers/renumbering.js'
import type { Kind, LoadTask, Opened, Receiver } from '../kind.js'
import { type FileState, isGroup, isRekeying, numberOf } from '../ledger/file-state.js'
import type { ChunkReceipt } from '../ledger/ledger.js'
import { isPublished } from '../ledger/publication.js'
import { addCounted } from '../ledger/sums.js'
import { sql } from '../store/sql.js'
import {
  attach,
  countRepeats,
  createStaging,
  derivedOf,
  emptyStaging,
  putBack,
} from '../store/staging.js'
import { countLines, isOfFile } from '../store/versions.js'
import { notePublished, usageTable } from '../verify/entries.js'
import { noteRepaired } from '../verify/repaired.js'
import { createWhole, linkWhole } from '../whole.js'
import { loadInBulk, loadUnseenInBulk, storeTimestamps } from './bulk-path.js'
import { markStaged } from './days/stale.js'
import { gridOf, totalShapes } from './irregular-meters.js'
import { recordProved, recordProvisional } from './lengths/provisional.js'
import { measure } from './measure/measure.js'
import { recordMoves, recordReturned } from './moves/moves.js'
import { noteReplaced, recordRestatements } from './overlap.js'
import { proveDates, reconcileUsage } from './reconcile.js'
import { settleRepeatedHour } from './repeated-hour/settle.js'
import { loadRowByRow } from './row-path.js'
import { rulesOf, type Sample, sampleFile } from './sample.js'
import { createSeenTimestamps, explainTimestamp, type SeenTimestamps } from './timestamps.js'

/** Reads of meters: millions of rows, which the engine judges. */
export const usageKind: Kind = {
  createStaging: (store, { arrival }) => createStaging(store, arrival),
  emptyStaging: (store, { arrival }) => emptyStaging(store, arrival),
  open,
  load: loadUsage,
  sumStaged: async (context, state) => {
    const { store, profile } = context
    const { arrival, decision, manifest } = state
    const [repeats] = await Promise.all([countRepeats(store, arrival), createWhole(store, state)])
    const table = await linkWhole(store, state)
    const hour = await settleRepeatedHour(context, state, repeats)
    const [shapes, dates] = await Promise.all([
      totalShapes(store, { arrival, decision, table }, gridOf(profile, manifest)),
      proveDates(context, state),
    ])
    return { ...addCounted(shapes, hour.rejected), shapes, hour, dates }
  },
  reconcile: async (line, files) => Promise.all(files.map((file) => reconcileUsage(line, file))),
  attach: async ({ store, profile }, states) => {
    for (const state of states.filter(({ restates }) => restates)) {
      await store.command(noteReplaced(state))
      await store.command(recordRestatements(state))
      await store.command(recordMoves(state))
    }
    const proving = states.filter(({ notes }) => notes.rekeyed !== undefined)
    for (const { arrival, decision, notes } of proving) {
      const order = notes.repairs ?? arrival
      await store.command(recordProved({ arrival, decision, order }))
    }
    const repairs = states.filter(({ notes }) => notes.repairs !== undefined)
    for (const state of repairs) {
      const { arrival: number, attaches: table, notes } = state
      await store.command(markStaged({ number, table, repairs: notes.repairs }))
      await store.command(recordReturned(state))
      await putBack(store, usageTable.table, state.attaches)
      await noteRepaired(store, state, usageTable)
    }
    const first = states.filter((state) => !repairs.includes(state))
    if (first.length > 0) await attachFirst({ store, profile }, first)
  },
  isVisible: async (store, state) => {
    const { arrival, notes } = state
    if (await isPublished(store, arrival)) return true
    // A file may have nothing new but the length of stored reads, which keep their versions.
    const rekeys = isRekeying(state) && notes.repairs === undefined
    const isIts = rekeys ? sql`(${isOfFile(arrival)} OR change = ${arrival})` : isOfFile(arrival)
    const found = await store.rows({ sql: sql`SELECT 1 FROM usage_read WHERE ${isIts} LIMIT 1` })
    return found.length > 0
  },
  learn: async (line, states) => {
    const news = states.filter(({ notes }) => notes.repairs === undefined)
    if (news.length === 0) return { warnings: new Map(), hasRenewed: false }
    const { hasNamed, hasRenewed } = await learnAccounts(line, news)
    const arrivals = news.map(({ arrival }) => arrival)
    const warnings = hasNamed ? await warnOfRenumbering(line.store, arrivals) : new Map()
    return { warnings, hasRenewed }
  },
  derive: ({ queues }) => queues.add('days', { v: 1 }),
}

function open(context: PipelineContext, file: Opened): Receiver {
  const { arrival, arrivedAt, feed, head, extraColumns, stated, qualities, times } = file
  const { usage, limits } = context.profile
  const { rowBytesMax } = limits
  let sample: Sample | undefined
  const startsMax = Math.floor(arrivedAt.getTime() / 1_000) + usage.futureHours * 3_600
  const rowFormat = () => {
    const { profile, zone } = context
    const lengths = lengthsOf(profile, feed, { times })
    const rules = { ...timesOf(profile, { times }), zone }
    sample ??= sampleFile(head(), rules, { lengths, extraColumns, stated })
    return { ...sample, startsMax, extraColumns, stated, qualities, times }
  }
  let texts: SeenTimestamps | undefined
  const timestamps = () => {
    const rules = rulesOf(context, { feed, ...rowFormat() })
    texts ??= createSeenTimestamps((text) => explainTimestamp(text, rules))
    return texts
  }
  return {
    rowFormat,
    measure: (bytes) => {
      const { micros, ...measured } = measure(bytes, timestamps(), { extraColumns, rowBytesMax })
      return { ...measured, micros: micros.toString(), repeats: timestamps().hadRepeats() }
    },
    prepare: () => storeTimestamps(context.store, arrival, timestamps().fresh()),
  }
}

/**
 * Brings the good rows of a chunk into staging and writes down the others. The engine stores the
 * clearly valid rows in one statement, in a second one those with timestamps that the bytes had not
 * shown; what it leaves is judged row by row. Where the engine says that the first stored them all, they
 * are not counted again: the verdict counts the whole file in staging.
 */
async function loadUsage(context: PipelineContext, task: LoadTask): Promise<ChunkReceipt> {
  const { chunk } = task
  const loaded = await loadInBulk(context, task)
  const reader = loaded?.reader
  let plain = loaded?.rows === chunk.rows ? chunk.rows : await count(context, task)
  if (plain < chunk.rows && reader !== undefined) {
    if (await loadUnseenInBulk(context, task, reader)) plain = await count(context, task)
  }
  const odd = plain === chunk.rows ? undefined : await loadRowByRow(context, task, reader)
  const stored = odd === undefined || odd.accepted === 0 ? plain : await count(context, task)
  return {
    chunk: chunk.chunk,
    rowsRead: stored + (odd?.rejected ?? 0),
    rowsAccepted: stored,
    rowsRejected: odd?.rejected ?? 0,
    quantityRejected: formatQuantity(odd?.rejectedMicros ?? 0n),
  }
}

async function count(context: PipelineContext, { arrival, chunk }: LoadTask): Promise<number> {
  const statement = countLines({ arrival, ...chunk })
  const [counted] = await context.store.rows<{ rows: string }>(statement)
  return Number(counted?.rows ?? 0)
}

/** Attaches what has never been stored. */
async function attachFirst(
  { store, profile }: Pick<PipelineContext, 'store' | 'profile'>,
  first: readonly FileState[],
): Promise<void> {
  const guessed = first.filter(({ notes }) => notes.provisionalMeters !== undefined)
  for (const state of new Map(guessed.map((one) => [one.attaches, one])).values()) {
    const staged = { ...state, arrival: numberOf(state), grid: gridOf(profile, state.manifest) }
    await store.command(recordProvisional(staged, state.attaches))
  }
  const tables = [...new Map(first.map((state) => [state.attaches, state])).values()]
  const marks = tables.map((state) => {
    const { attaches: table } = state
    const hasOthers = isGroup(numberOf(state)) || isRekeying(state)
    const isOwn = !hasOthers && table === derivedOf(state).whole
    return markStaged({ number: numberOf(state), table, isOwn })
  })
  await Promise.all([notePublished(first), ...marks].map((write) => store.command(write)))
  for (const { attaches } of tables) await attach(store, usageTable.table, attaches)
}
