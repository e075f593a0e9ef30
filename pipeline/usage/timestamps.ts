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

/** The meaning of a timestamp of a file; undefined where the row judge rejects it. */
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

/** The different timestamps of a file, as far as they were seen while its bytes passed. */
export interface StampTexts {
  see(text: string): void
  /** Whether a timestamp seen since the last call lies in the hour that the clock repeats. */
  hadRepeats(): boolean
  /** What timestamps mean that were first seen since the last call; the meaningless are left out. */
  fresh(): readonly Stamp[]
}

/** Different timestamps of a file that the engine looks up; rows with others are judged one by one. */
export const stampsMax = 100_000

/** Explains each timestamp once, when it is first seen. */
export function createStampTexts(explain: (text: string) => Stamp | undefined): StampTexts {
  /** Whether it lies in the repeated hour. */
  const known = new Map<string, boolean>()
  let fresh: Stamp[] = []
  let hadRepeats = false
  return {
    see: (text) => {
      const isTwice = known.get(text)
      if (isTwice === true) hadRepeats = true
      if (isTwice !== undefined || known.size >= stampsMax) return
      const stamp = explain(text)
      const isRepeated = stamp?.second !== undefined
      known.set(text, isRepeated)
      if (isRepeated) hadRepeats = true
      if (stamp !== undefined) fresh.push(stamp)
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
