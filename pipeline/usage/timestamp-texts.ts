import type { Stamp } from './timestamps.js'

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
