/** A partition of slots: two share a bucket where no labelling distinguishes them. */
export interface PriceBuckets {
  /** Counted from 0. */
  readonly count: number
  /** The bucket of each slot. */
  readonly bucketOf: Uint16Array
}

/** The labels of the slots by one point of view: a component's segments, the days of a variant. */
export type Labelling = ArrayLike<number>

/** Splits slots into the fewest buckets that distinguish all labellings. */
export function createPriceBuckets(slots: number, labellings: Iterable<Labelling>): PriceBuckets {
  let count = 1
  const bucketOf = new Uint16Array(slots)
  for (const labels of labellings) {
    const found = new Map<number, number>()
    let [last, known] = [-1, 0]
    for (let slot = 0; slot < slots; slot++) {
      const key = (bucketOf[slot] as number) * 65_536 + (labels[slot] as number)
      if (key !== last) {
        known = found.get(key) ?? found.size
        found.set(key, known)
        last = key
      }
      bucketOf[slot] = known
    }
    count = found.size
  }
  return { count, bucketOf }
}

/** For each bucket 1 where its slots lie in one of some segments, else 0. */
export function maskOf(
  { count, bucketOf }: PriceBuckets,
  segmentOf: Labelling,
  segments: readonly number[],
): Uint8Array {
  const mask = new Uint8Array(count)
  if (segments.length === 0) return mask
  const wanted = new Set(segments)
  for (let slot = 0; slot < bucketOf.length; slot++) {
    if (wanted.has(segmentOf[slot] as number)) mask[bucketOf[slot] as number] = 1
  }
  return mask
}

/** The bucket of a coarser partition that each bucket of a finer one lies in. */
export function coarserOf(fine: PriceBuckets, coarse: PriceBuckets): readonly number[] {
  const found = new Array<number>(fine.count).fill(0)
  fine.bucketOf.forEach((bucket, slot) => {
    found[bucket] = coarse.bucketOf[slot] as number
  })
  return found
}
