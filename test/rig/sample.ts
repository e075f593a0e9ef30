/** Set by `npm run test:long`. */
const isLong = process.env['TIELINE_TEST_LONG'] === '1'

/** The size of a sample: a short one in `npm test`, the full one in `npm run test:long`. */
export function sample<T>(sizes: { readonly short: T; readonly long: T }): T {
  return isLong ? sizes.long : sizes.short
}

/** How often a property is tried, from a seed of its own each time: tenfold in the long tests. */
export function runs(short: number): number {
  return sample({ short, long: short * 10 })
}

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
