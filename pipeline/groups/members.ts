import { trimBlanks } from '../../schemas/field.js'
import type { RowFormat } from '../../schemas/manifest.js'
import type { TimestampRules } from '../../schemas/time/read-timestamp.js'
import { groupFilesMax } from '../queues/jobs.js'
import { versionOf } from '../store/versions.js'
import { explainTimestamp, type TimestampMeaning } from '../usage/timestamps.js'

/** What the rows of a small file show, one by one. */
export interface MemberRows {
  /** Each row with its version as one more column. */
  readonly lines: string
  readonly meters: ReadonlySet<string>
  /** What its timestamps mean, by their text. */
  readonly timestamps: ReadonlyMap<string, TimestampMeaning>
}

/**
 * Reads the rows of a plain chunk. Undefined where a row has not the columns of the file, or a timestamp
 * that means nothing or lies in the hour that the clock repeats.
 */
export function readMember(
  bytes: Buffer,
  { arrival, line }: { readonly arrival: number; readonly line: number },
  rules: TimestampRules & Pick<RowFormat, 'extraColumns'>,
): MemberRows | undefined {
  const columns = 5 + (rules.extraColumns ?? 0)
  const first = versionOf(arrival, line)
  const lines: string[] = []
  const meters = new Set<string>()
  const timestamps = new Map<string, TimestampMeaning>()
  for (const [at, raw] of bytes.toString('utf8').split('\n').entries()) {
    const row = raw.endsWith('\r') ? raw.slice(0, -1) : raw
    if (row === '') continue
    const fields = row.split(',')
    const [, , meter = '', text = ''] = fields
    if (fields.length !== columns) return undefined
    const meaning = timestamps.get(text) ?? explainTimestamp(text, rules)
    if (meaning === undefined || meaning.second !== undefined) return undefined
    timestamps.set(text, meaning)
    meters.add(trimBlanks(meter))
    lines.push(`${row},${first + BigInt(at)}\n`)
  }
  return { lines: lines.join(''), meters, timestamps }
}

/** What decides whether two files can be loaded as one. */
export interface Groupable {
  /** Equal where feed and row format are. */
  readonly shape: string
  readonly meters: ReadonlySet<string>
  readonly bytes: number
}

const groupBytesMax = 16 * 1_048_576

/**
 * Puts files into groups, in the order given: a group has one shape and no meter twice, because reads
 * of a meter are judged file by file, one after the other.
 */
export function toGroups<T extends Groupable>(files: readonly T[]): readonly (readonly T[])[] {
  const groups: { files: T[]; bytes: number }[] = []
  /** The last group that a meter is in: its next file goes into a later one. */
  const latest = new Map<string, number>()
  for (const file of files) {
    let after = -1
    for (const meter of file.meters) after = Math.max(after, latest.get(meter) ?? -1)
    let at = groups.findIndex((group, index) => index > after && hasRoom(group, file))
    if (at === -1) at = groups.push({ files: [], bytes: 0 }) - 1
    const group = groups[at] as (typeof groups)[number]
    group.files.push(file)
    group.bytes += file.bytes
    for (const meter of file.meters) latest.set(meter, at)
  }
  return groups.map((group) => group.files)
}

function hasRoom(
  { files, bytes }: { readonly files: readonly Groupable[]; readonly bytes: number },
  file: Groupable,
): boolean {
  return (
    files[0]?.shape === file.shape &&
    files.length < groupFilesMax &&
    bytes + file.bytes <= groupBytesMax
  )
}
