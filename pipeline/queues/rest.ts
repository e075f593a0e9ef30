/** How long a look rests that has found nothing. */
export const restMs = 60_000

/** Spares looks that are expensive and mostly find nothing. */
export interface Rest {
  /** Something was done in this process, and the next look may find what came of it. */
  end(): void
  /** Looks, unless the last look found nothing within `restMs` and nothing was done since it began. */
  look(find: () => Promise<boolean>): Promise<void>
}

/** `now` is milliseconds of a clock that nobody sets. */
export function createRest(now = () => performance.now()): Rest {
  let until = Number.NEGATIVE_INFINITY
  let done = 0
  return {
    end: () => {
      done++
      until = Number.NEGATIVE_INFINITY
    },
    look: async (find) => {
      if (now() < until) return
      const before = done
      const hasFound = await find()
      if (!hasFound && done === before) until = now() + restMs
    },
  }
}
