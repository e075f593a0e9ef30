import {
  readTimestamp,
  type TimestampReader,
  type TimestampRules,
} from '../../schemas/time/read-timestamp.js'
import { rememberTimes } from '../../schemas/time/remember.js'
import { toDay } from '../../schemas/time/zone.js'

/** An instant on the local clock: the day and hour in which an interval starts. */
export interface LocalStart {
  /** Epoch seconds, UTC. */
  readonly startsAt: number
  /** `YYYY-MM-DD`. */
  readonly localDay: string
  readonly localHour: number
}

/** What a timestamp of a file means; `second` is there in the hour that the clock repeats. */
export interface TimestampMeaning {
  readonly text: string
  readonly first: LocalStart
  readonly second: LocalStart | undefined
}

/** The meaning of a timestamp of a file; undefined where the row judge rejects it. */
export function explainTimestamp(
  text: string,
  rules: TimestampRules,
): TimestampMeaning | undefined {
  const starts = readTimestamp(text, rules)
  if (typeof starts === 'string') return undefined
  const [first, second] = starts.map((startsAt) => toLocalStart(startsAt, rules))
  return first && { text, first, second }
}

export function toLocalStart(startsAt: number, { zone }: Pick<TimestampRules, 'zone'>): LocalStart {
  const wall = zone.toWall(startsAt)
  return { startsAt, localDay: toDay(wall), localHour: wall.hour }
}

/** Reads timestamps by the rules, each different one once. */
export function rememberTimestamps(rules: TimestampRules): TimestampReader {
  return rememberTimes((text) => readTimestamp(text, rules), { timesMax: timestampsMax })
}

/** The different timestamps of a file, as far as they were seen while its bytes passed. */
export interface SeenTimestamps {
  see(text: string): void
  /** Whether a timestamp seen since the last call lies in the hour that the clock repeats. */
  hadRepeats(): boolean
  /** What timestamps mean that were first seen since the last call; the meaningless are left out. */
  fresh(): readonly TimestampMeaning[]
}

/** Different timestamps of a file that the engine looks up; rows with others are judged one by one. */
export const timestampsMax = 100_000

/** Explains each timestamp once, when it is first seen. */
export function createSeenTimestamps(
  explain: (text: string) => TimestampMeaning | undefined,
): SeenTimestamps {
  /** Whether it lies in the repeated hour. */
  const known = new Map<string, boolean>()
  let fresh: TimestampMeaning[] = []
  let hadRepeats = false
  return {
    see: (text) => {
      const isTwice = known.get(text)
      if (isTwice === true) hadRepeats = true
      if (isTwice !== undefined || known.size >= timestampsMax) return
      const timestamp = explain(text)
      const isRepeated = timestamp?.second !== undefined
      known.set(text, isRepeated)
      if (isRepeated) hadRepeats = true
      if (timestamp !== undefined) fresh.push(timestamp)
    },
    hadRepeats: () => {
      const had = hadRepeats
      hadRepeats = false
      return had
    },
    fresh: () => {
      const taken = fresh
      fresh = []
      return taken
    },
  }
}
