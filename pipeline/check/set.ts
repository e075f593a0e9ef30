import { feedNames, recordFeedOf } from '../../schemas/feed.js'
import { parseFileName, setOfName } from '../../schemas/file-name.js'
import type { LintInput, PlacedRow } from '../../schemas/lint/finding.js'
import { lintSet } from '../../schemas/lint/lint.js'
import type { Naming } from '../../schemas/name-pattern.js'
import type { Receipt } from '../../schemas/receipt.js'
import type { SetName } from '../../schemas/record-feed.js'
import { noRows } from '../ledger/file-state.js'
import { type FileFindings, reasonsOf, refuseSchedule, toFindings } from '../records/findings.js'
import { check } from './check.js'
import type { Checked, CheckOptions } from './checking.js'
import type { BadRow } from './row-reading.js'

/**
 * Checks files as the receiver would judge them had they come together: each by itself, then the
 * complete schedules of one company and day as the set that they are. Of a feed without a file here
 * nothing is known, and nothing is said.
 */
export async function checkAll(
  paths: readonly string[],
  naming: Naming,
  optionsOf: (path: string) => CheckOptions,
): Promise<readonly Checked[]> {
  const checked: Checked[] = []
  for (const path of paths) checked.push(await check(path, optionsOf(path)))
  const sets = new Map<string, Checked[]>()
  for (const one of checked) {
    const { fileName, feed } = one.receipt
    const key = feed === null ? undefined : setOfName(fileName, naming)?.key
    if (key !== undefined) sets.set(key, [...(sets.get(key) ?? []), one])
  }
  const judged = new Map<Checked, Checked>()
  for (const members of sets.values()) {
    const found = judgeSet(members, naming)
    for (const [at, one] of found.entries()) judged.set(members[at] as Checked, one)
  }
  return checked.map((one) => judged.get(one) ?? one)
}

function judgeSet(members: readonly Checked[], naming: Naming): readonly Checked[] {
  const [first] = members as readonly [Checked]
  const set = recordFeedOf(first.receipt.feed ?? '')?.schedule?.set as SetName
  const { errors, warnings } = lintSet(set, inputOf(set, members, naming))
  const findings = toFindings(errors)
  const refused = members.filter(({ receipt }) => receipt.status === 'quarantined')
  const rejected = members.flatMap((member) => {
    const { fileName, rows } = member.receipt
    return refused.includes(member) ? [] : [{ fileName, rows: rows.rejected }]
  })
  const reasons = reasonsOf({
    quarantined: refused.map(({ receipt }) => receipt),
    rejected,
    errors,
  })
  return members.map((member) => {
    if (refused.includes(member)) return member
    const found = findings.get(member.receipt.fileName) ?? new Map()
    return reasons.length > 0
      ? refuse(member, found, { reasons, warnings })
      : note(member, warnings)
  })
}

function inputOf(set: SetName, members: readonly Checked[], naming: Naming): LintInput {
  const rows: Record<string, readonly PlacedRow[]> = {}
  for (const { receipt, rows: own = [] } of members) {
    const feed = receipt.feed ?? ''
    rows[feed] = [...(rows[feed] ?? []), ...own]
  }
  const unknown = feedNames.filter((name) => {
    return recordFeedOf(name)?.schedule?.set === set && rows[name] === undefined
  })
  const { fileDate } = parseFileName(members[0]?.receipt.fileName ?? '', naming)
  return {
    rows,
    unknown,
    registered: { rates: [], cycles: [] },
    fileDate,
  }
}

function note(member: Checked, warnings: readonly string[]): Checked {
  return { ...member, receipt: withNotes(member.receipt, warnings) }
}

function withNotes(receipt: Receipt, warnings: readonly string[]): Receipt {
  const notes = [...(receipt.notes ?? []), ...warnings]
  return notes.length === 0 ? receipt : { ...receipt, notes }
}

function refuse(
  { receipt, badRows, rows: placed = [] }: Checked,
  found: FileFindings,
  why: { readonly reasons: readonly string[]; readonly warnings: readonly string[] },
): Checked {
  const { fault, reason } = refuseSchedule(why.reasons)
  const raws = new Map(placed.map(({ line, raw }) => [line, raw]))
  const bad = [...found].map(([line, finding]): BadRow => {
    return { line, ...finding, row: raws.get(line) ?? '' }
  })
  const rejected = receipt.rows.rejected + found.size
  const { read } = receipt.rows
  const rows = { ...noRows, read: rejected, rejected }
  return {
    receipt: {
      ...withNotes(receipt, why.warnings),
      status: 'quarantined',
      reason: `${fault}: ${reason}`,
      rows,
      held: { rows: read - rejected, quantity: '0' },
    },
    badRows: [...badRows, ...bad].sort((a, b) => a.line - b.line),
  }
}
