import { readFile } from 'node:fs/promises'
import { feedNames, recordFeedOf } from '../../schemas/feed.js'
import { fromDays, groupRows, type PlacedRow, toDays } from '../../schemas/lint/finding.js'
import { lintSet } from '../../schemas/lint/lint.js'
import { findTwice } from '../../schemas/lint/twice.js'
import type { RecordFeed, SetName } from '../../schemas/record-feed.js'
import type { PipelineContext } from '../context.js'
import { chunkPath } from '../files/landing.js'
import { splitRows } from '../files/rows.js'
import type { LoadedFile } from '../kind.js'
import { type FileState, isAhead } from '../ledger/file-state.js'
import { hold, sumReceipts, withRejected, withWarnings } from '../ledger/verdict.js'
import { derivedOf } from '../store/staging.js'
import { toRejectRow } from '../usage/row-path.js'
import { proveRows } from '../whole.js'
import { type FileFindings, reasonsOf, refuseSchedule, toFindings } from './findings.js'
import { keepRecords, noteRepeated } from './outcome.js'
import {
  latestVersion,
  registeredCodes,
  rowsInForce,
  stagedRows,
  type Version,
} from './schedules.js'

/** A file of a set with all that is judged of it. */
interface Member {
  readonly state: FileState
  readonly feed: RecordFeed
  readonly rows: readonly PlacedRow[]
  /** Rows that are unusable by themselves. */
  readonly rejected: number
  /** The published version that it equals or follows. */
  readonly before: Version | undefined
  readonly isAgain: boolean
  readonly reland: LoadedFile['reland']
}

/**
 * Decides what becomes of a set of complete schedules: published as one, or none of it (decisions 26
 * and 27). A file that equals the version in force is a duplicate whatever becomes of the others, unless an
 * earlier one is still undecided: published last, that one would win over what this one has confirmed.
 */
export async function reconcileSet(
  context: PipelineContext,
  files: readonly LoadedFile[],
  ended: readonly FileState[],
): Promise<readonly FileState[]> {
  const members: Member[] = []
  for (const file of files) members.push(await toMember(context, file))
  const linted = await lint(context, members, ended)
  const findings = toFindings(linted.errors)
  const reasons = reasonsOf({
    quarantined: ended.filter(isRefused),
    rejected: members.map(({ state, rejected }) => ({ fileName: state.fileName, rows: rejected })),
    errors: linted.errors,
  })
  const isGood = reasons.length === 0
  const decided: FileState[] = []
  for (const member of members) {
    const own = findings.get(member.state.fileName) ?? new Map()
    if (isSame(member)) {
      const duplicateOf = member.before?.arrival ?? 0
      const { state } = member
      const rows = { ...state.rows, duplicate: state.rows.read }
      decided.push({ ...state, status: 'duplicate', duplicateOf, rows })
    } else if (isGood) decided.push(await publishing(context, member, linted.warnings))
    else decided.push(await refused(context, member, { findings: own, reasons, ...linted }))
  }
  return decided
}

const isRefused = ({ status }: FileState) => status === 'quarantined'

async function toMember({ store, profile }: PipelineContext, file: LoadedFile): Promise<Member> {
  const { state, origin, receipts, reland } = file
  const feed = recordFeedOf(state.feed) as RecordFeed
  const { fileName } = state
  const rows = await stagedRows(store, feed, derivedOf(state).whole)
  return {
    state,
    feed,
    rows: rows.map((row) => ({ fileName, ...row })),
    rejected: sumReceipts(receipts, 'rowsRejected'),
    before: await latestVersion(store, feed, state),
    isAgain: (origin?.force ?? false) || (await isAhead(store, state, profile)),
    reland,
  }
}

/** Whether a file says what the version in force says, in whatever order. */
function isSame({ feed, rows, rejected, before, isAgain }: Member): boolean {
  if (before === undefined || rejected > 0 || isAgain) return false
  const texts = (all: readonly Pick<PlacedRow, 'row'>[]) =>
    [...new Set(all.map(({ row }) => JSON.stringify(feed.columns.map((one) => row[one]))))].sort()
  return texts(rows).join('\n') === texts(before.rows).join('\n')
}

/** Judges the rows of the set's files with those in force of its other feeds. */
async function lint(
  context: PipelineContext,
  members: readonly Member[],
  ended: readonly FileState[],
) {
  const [first] = members as readonly [Member]
  const set = first.feed.schedule?.set as SetName
  const { companyCode, fileDate = '' } = first.state
  const rows: Record<string, readonly PlacedRow[]> = {}
  for (const name of feedNames) {
    const feed = recordFeedOf(name)
    if (feed?.schedule?.set !== set) continue
    const own = members.filter((member) => member.feed === feed).flatMap((member) => member.rows)
    rows[name] =
      own.length > 0 ? own : await placedInForce(context, feed, { companyCode, day: fileDate })
  }
  const given = [...members.map(({ state }) => state), ...ended].map(({ feed }) => feed)
  const unknown = context.isTrial ? Object.keys(rows).filter((name) => !given.includes(name)) : []
  const registered = await registeredCodes(context.store)
  const { errors, warnings } = lintSet(set, { rows, unknown, registered, fileDate })
  return {
    errors,
    warnings: [...warnings, ...members.flatMap(warnOfYears), ...members.flatMap(warnOfGaps)],
  }
}

/** Rows of every year name no first day: the prices of the version before stay in force until that of the file. */
function warnOfYears({ state, feed, rows, before }: Member): readonly string[] {
  const { starts = '', code = '' } = feed.schedule ?? {}
  const yearly = rows.filter(({ row }) => row[starts]?.startsWith('--'))
  const known = [...new Set(yearly.map(({ row }) => row[code] ?? ''))].filter((one) =>
    before?.starts.has(one),
  )
  if (known.length === 0) return []
  return [
    `${feed.name} rows of every year of ${known.join(', ')} apply from ${state.fileDate} on; before it, prices are those of ${before?.fileName}`,
  ]
}

/** Days of a cycle between the last period that stays of the version before and the first one of the file. */
function warnOfGaps({ feed, rows, before }: Member): readonly string[] {
  if (feed.name !== 'BillingCycles' || before === undefined) return []
  return groupRows(rows, 'BillingCycleID').flatMap((own) => {
    const cycle = own[0]?.row['BillingCycleID'] ?? ''
    const start = Math.min(...own.map(({ row }) => toDays(row['StartDate'] ?? '')))
    const ends = before.rows
      .filter(({ row }) => row['BillingCycleID'] === cycle)
      .map(({ row }) => toDays(row['EndDate'] ?? ''))
      .filter((end) => end <= start)
    const last = Math.max(...ends)
    if (ends.length === 0 || last + 1 >= start) return []
    return [
      `cycle ${cycle} has no period from ${fromDays(last + 1)} to ${fromDays(start - 1)}: it ends in ${before.fileName} before it starts here`,
    ]
  })
}

async function placedInForce(
  { store }: PipelineContext,
  feed: RecordFeed,
  at: { readonly companyCode: string; readonly day: string },
): Promise<readonly PlacedRow[]> {
  const fileName = `${feed.name} in force`
  return (await rowsInForce(store, feed, at)).map((row) => ({ fileName, line: 0, row }))
}

async function publishing(
  { store }: PipelineContext,
  { state, feed, rows, before }: Member,
  warnings: readonly string[],
): Promise<FileState> {
  const { arrival, decision } = state
  const { repeated } = findTwice(feed, rows)
  if (repeated.length > 0) {
    await noteRepeated(
      store,
      state,
      repeated.map((one) => one.line),
    )
    await keepRecords(store, feed, { arrival, decision, without: ['repeated'] })
  }
  const kept = rows.filter((one) => !repeated.includes(one))
  const { whole, final } = derivedOf(state)
  const attaches = repeated.length === 0 ? whole : final
  await proveRows(store, attaches, kept.length)
  const late = before !== undefined && before.arrival > arrival ? before : undefined
  const superseded = kept.filter(
    ({ row }) => late !== undefined && isReplaced(feed, row, late),
  ).length
  return {
    ...state,
    status: 'publishing',
    notes: withWarnings(state.notes, warnings),
    rows: {
      ...state.rows,
      duplicate: repeated.length,
      superseded,
      accepted: kept.length - superseded,
    },
    attaches,
  }
}

/** Whether a later version leaves a row no day: a price applies until its code begins there, a period completely or not at all. */
function isReplaced({ schedule }: RecordFeed, row: PlacedRow['row'], later: Version): boolean {
  const of = (column: string | undefined) => (column === undefined ? '' : (row[column] ?? ''))
  const from = later.starts.get(of(schedule?.code)) ?? later.starts.get('') ?? ''
  const decisive = schedule?.set === 'rates' ? of(schedule.starts) : of(schedule?.ends)
  return decisive === '' || (/^\d/.test(decisive) && decisive >= from)
}

interface Refused {
  readonly findings: FileFindings
  readonly reasons: readonly string[]
  readonly warnings: readonly string[]
}

async function refused(context: PipelineContext, member: Member, why: Refused): Promise<FileState> {
  const { state, rejected } = member
  if (why.findings.size > 0) await rejectFound(context, member, why.findings)
  const rows = { rows: rejected + why.findings.size, quantity: '0' }
  const noted = { ...state, notes: withWarnings(state.notes, why.warnings) }
  return hold(withRejected(noted, rows), refuseSchedule(why.reasons))
}

/** Records the rows with findings of the linter, as the file has them. */
async function rejectFound(
  context: PipelineContext,
  { state, reland }: Member,
  findings: FileFindings,
): Promise<void> {
  await reland()
  const { arrival } = state
  const rejects: object[] = []
  for (const chunk of state.manifest.chunks) {
    const bytes = await readFile(chunkPath(context.folders.landing, { arrival, chunk }))
    for (const row of splitRows(bytes, chunk.line)) {
      const found = findings.get(row.line)
      if (found !== undefined) rejects.push(toRejectRow(arrival, row, { ...found, micros: 0n }))
    }
  }
  await context.store.insert('reject', rejects)
}
