/** Choices that look random and are the same for a seed. */
export interface Draw {
  /** A whole number from 0 up to a limit, exclusive. */
  below(limit: number): number
  pick<T>(values: readonly T[]): T
  /** True with a chance of so many percent. */
  chance(percent: number): boolean
}

export function createDrawOf(seed: number): Draw {
  let state = seed >>> 0
  const below = (limit: number) => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }
  return {
    below,
    pick: (values) => values[below(values.length)] as (typeof values)[number],
    chance: (percent) => below(100) < percent,
  }
}
