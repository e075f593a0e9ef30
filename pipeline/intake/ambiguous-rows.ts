import { trimBlanks } from '../../schemas/field.js'
import { lengthsOf, type Profile } from '../../schemas/settings/profile.js'
import { readTimestamp, type TimestampRules } from '../../schemas/time/read-timestamp.js'
import type { Zone } from '../../schemas/time/zone.js'
import { parseRow } from '../files/csv.js'
import { type AutumnChange, ambiguousRows, type NightRow } from '../usage/repeated-hour/rule.js'

/** Rows of a call as lines of a usage file without its header. */
export interface PushedLines {
  readonly feed: string
  readonly text: string
}

interface PushedRow {
  /** In the call, from 1. */
  readonly number: number
  readonly meterId: string
  /** The instants that its timestamp may mean, epoch seconds. */
  readonly instants: readonly number[]
}

/**
 * Finds a row of a call that is ambiguous by itself (decision 15): the call has the rows of its meter
 * before and after the repeated hour, but only one of the two rows of its timestamp. A row that has none
 * around it may follow on what is stored, which only the load of the row knows.
 */
export function createAmbiguityCheck(
  profile: Pick<Profile, 'usage'>,
  { zone, now }: { readonly zone: Zone; readonly now: () => Date },
): (lines: PushedLines) => string | undefined {
  const { usage } = profile
  const rules: TimestampRules = { ...usage, zone, stamp: 'start', format: undefined, seconds: 0 }
  return ({ feed, text }) => {
    const lengths = lengthsOf(profile, feed)
    const arrivedAt = Math.floor(now().getTime() / 1_000)
    for (const rows of byMeter(readRows(text, rules))) {
      for (const change of changesIn(rows, zone)) {
        const length = Math.max(...lengths.filter((one) => change.span % one === 0))
        const own = { change, length, rows: rows.map(toNightRow), arrivedAt, stamp: usage.stamp }
        const [row] = ambiguousRows({ ...own, stored: new Map(), last: undefined })
        if (row !== undefined) return `row ${row.version} ${problem}`
      }
    }
    return undefined
  }
}

const problem =
  'is AMBIGUOUS_TIME: the rows before and after the repeated hour are here, but only one of the two rows of its timestamp; send both, or times with an offset'

/** The rows of each meter that has some in a repeated hour. */
function byMeter(rows: readonly PushedRow[]): Iterable<readonly PushedRow[]> {
  const meters = new Map<string, PushedRow[]>()
  for (const { meterId, instants } of rows) if (instants.length > 1) meters.set(meterId, [])
  if (meters.size > 0) for (const row of rows) meters.get(row.meterId)?.push(row)
  return meters.values()
}

function changesIn(rows: readonly PushedRow[], zone: Zone): Iterable<AutumnChange> {
  const changes = new Map<number, AutumnChange>()
  for (const { instants } of rows) {
    const [first = 0, second] = instants
    if (second === undefined) continue
    const at = zone.changeWithin(first, second)
    changes.set(at, { at, span: second - first })
  }
  return changes.values()
}

function readRows(text: string, rules: TimestampRules): readonly PushedRow[] {
  return text.split('\n').flatMap((line, index) => {
    const [, , meter, timestamp] = parseRow(line) ?? []
    if (meter === undefined || timestamp === undefined) return []
    const instants = readTimestamp(trimBlanks(timestamp), rules)
    if (typeof instants === 'string') return []
    return [{ number: index + 1, meterId: trimBlanks(meter), instants }]
  })
}

function toNightRow({ number, instants }: PushedRow): NightRow {
  const kind = instants.length > 1 ? 'repeated' : 'outside'
  return { at: instants[0] as number, kind, print: '', version: String(number) }
}
