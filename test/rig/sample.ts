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
