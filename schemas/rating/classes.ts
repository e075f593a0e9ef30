/** A partition of slots: two are of one class where no labelling tells them apart. */
export interface Classes {
  /** Counted from 0. */
  readonly count: number
  /** The class of each slot. */
  readonly classOf: Uint16Array
}

/** The labels of the slots by one point of view: a component's segments, the days of a variant. */
export type Labelling = ArrayLike<number>

/** Splits slots into as few classes as tell all labellings apart. */
export function createClasses(slots: number, labellings: Iterable<Labelling>): Classes {
  let count = 1
  const classOf = new Uint16Array(slots)
  for (const labels of labellings) {
    const found = new Map<number, number>()
    let [last, known] = [-1, 0]
    for (let slot = 0; slot < slots; slot++) {
      const key = (classOf[slot] as number) * 65_536 + (labels[slot] as number)
      if (key !== last) {
        known = found.get(key) ?? found.size
        found.set(key, known)
        last = key
      }
      classOf[slot] = known
    }
    count = found.size
  }
  return { count, classOf }
}

/** For each class 1 where its slots lie in one of some segments, else 0. */
export function maskOf(
  { count, classOf }: Classes,
  segmentOf: Labelling,
  segments: readonly number[],
): Uint8Array {
  const mask = new Uint8Array(count)
  if (segments.length === 0) return mask
  const wanted = new Set(segments)
  for (let slot = 0; slot < classOf.length; slot++) {
    if (wanted.has(segmentOf[slot] as number)) mask[classOf[slot] as number] = 1
  }
  return mask
}

/** How many slots of a kind each class has. */
export function classSizes(
  { count, classOf }: Classes,
  isMeant: (slot: number) => boolean,
): readonly number[] {
  const sizes = new Array<number>(count).fill(0)
  for (let slot = 0; slot < classOf.length; slot++) {
    const at = classOf[slot] as number
    if (isMeant(slot)) sizes[at] = (sizes[at] ?? 0) + 1
  }
  return sizes
}
