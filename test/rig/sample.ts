import type { Test } from 'tap'

/** Set by `npm run test:long`. */
const isLong = process.env['TIELINE_TEST_LONG'] === '1'

/** The size of a sample: a short one in `npm test`, the full one in `npm run test:long`. */
export function sample<T>(sizes: { readonly short: T; readonly long: T }): T {
  return isLong ? sizes.long : sizes.short
}

/** How often a property is tried, from a seed of its own each time: tenfold in the long tests, or `long`. */
export function runs(short: number, long = short * 10): number {
  return sample({ short, long })
}

/** All of these in the long tests; in `npm test` so many in succession, from a random one on or `from`. */
export function someOf<T>(
  values: readonly T[],
  count = 1,
  from = Math.floor(Math.random() * values.length),
): readonly T[] {
  if (isLong) return values
  return Array.from({ length: count }, (_, at) => values[(from + at) % values.length] as T)
}

/**
 * Which moments of a kill, or numbered cases, are tried: each in the long tests, every `step`th from a
 * random one on in `npm test`, and `last`, behind which a loop looks no further. An odd step takes even
 * and odd ones in turn.
 */
export function momentsOf(step: number, last?: number): (moment: number) => boolean {
  const from = Math.floor(Math.random() * step)
  return (moment) => isLong || moment % step === from || moment === last
}

/**
 * A `t.test` for tests of which none needs another: each is played in the long tests, and one of so many
 * in succession in `npm test`, from a random one on.
 */
export function oneOfEach(count: number, t: Test): (name: string, body: Body) => void {
  const isTried = momentsOf(count)
  let number = 0
  return (name, body) => {
    if (isTried(number++)) void t.test(name, body)
  }
}

type Body = (t: Test) => Promise<unknown> | unknown

/** A random number generator from a seed, uniform in [0, 1): mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
