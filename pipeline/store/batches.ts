/** Items in lists of at most so many: a statement takes only some of them. */
export function batchesOf<T>(items: readonly T[], sizeMax: number): readonly (readonly T[])[] {
  const count = Math.ceil(items.length / sizeMax)
  return Array.from({ length: count }, (_, at) => items.slice(at * sizeMax, (at + 1) * sizeMax))
}
