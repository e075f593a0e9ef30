import { judgeTime, type TimeRules } from '../schemas/usage-row.js'
import { toDay } from '../schemas/zone.js'

/** What a timestamp means: the instant, and the local day and hour in which the interval starts. */
export interface Stamp {
  readonly text: string
  /** Epoch seconds, UTC. */
  readonly startsAt: number
  /** `YYYY-MM-DD`. */
  readonly localDay: string
  readonly localHour: number
}

/** The meaning of a timestamp as it stands in a file; undefined where the row judge rejects it. */
export function readStamp(text: string, rules: TimeRules): Stamp | undefined {
  const startsAt = judgeTime(text, rules)
  if (typeof startsAt === 'string') return undefined
  const wall = rules.zone.toWall(startsAt)
  return { text, startsAt, localDay: toDay(wall), localHour: wall.hour }
}
