export interface Range {
  readonly from: number
  readonly to: number
  readonly blockBytes: number
  /** Blocks that are asked for before the first of them has come. */
  readonly blocksAhead: number
}

/**
 * The bytes of a range in their order, read in blocks of which several are under way at once. Ends
 * early where a block comes short: that is where the file ends.
 */
export async function* readAhead(
  read: (from: number, length: number) => Promise<Buffer>,
  { from, to, blockBytes, blocksAhead }: Range,
): AsyncGenerator<Buffer> {
  const underWay: { readonly block: Promise<Buffer>; readonly length: number }[] = []
  let at = from
  for (;;) {
    while (at < to && underWay.length < blocksAhead) {
      const length = Math.min(blockBytes, to - at)
      const block = read(at, length)
      block.catch(() => undefined)
      underWay.push({ block, length })
      at += length
    }
    const next = underWay.shift()
    if (next === undefined) return
    const bytes = await next.block
    if (bytes.length > 0) yield bytes
    if (bytes.length < next.length) return
  }
}
