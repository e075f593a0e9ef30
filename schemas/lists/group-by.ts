/** Groups of one key each, in the order in which they begin. */
export function groupBy<T>(
  items: Iterable<T>,
  keyOf: (item: T) => string | number,
): readonly (readonly [T, ...T[]])[] {
  const groups = new Map<string | number, [T, ...T[]]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [item])
    else group.push(item)
  }
  return [...groups.values()]
}
