import { readStamp, type StampReader, type StampRules } from '../../schemas/time/read-timestamp.js'
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
export interface Stamp {
  readonly text: string
  readonly first: LocalStart
  readonly second: LocalStart | undefined
}

/** The meaning of a timestamp as it stands in a file; undefined where the row judge rejects it. */
export function explainStamp(text: string, rules: StampRules): Stamp | undefined {
  const starts = readStamp(text, rules)
  if (typeof starts === 'string') return undefined
  const [first, second] = starts.map((startsAt) => toLocalStart(startsAt, rules))
  return first && { text, first, second }
}

export function toLocalStart(startsAt: number, { zone }: Pick<StampRules, 'zone'>): LocalStart {
  const wall = zone.toWall(startsAt)
  return { startsAt, localDay: toDay(wall), localHour: wall.hour }
}

const rememberedMax = 100_000

/** Reads timestamps and remembers the different ones, of which a file has few. */
export function rememberStamps(rules: StampRules): StampReader {
  const known = new Map<string, ReturnType<StampReader>>()
  return (text) => {
    const found = known.get(text)
    if (found !== undefined) return found
    const meaning = readStamp(text, rules)
    if (known.size === rememberedMax) known.clear()
    known.set(text, meaning)
    return meaning
  }
}
