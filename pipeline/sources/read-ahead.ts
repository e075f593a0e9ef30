export interface Range {
  readonly from: number
  readonly to: number
  readonly blockBytes: number
  /** Blocks that are asked for before the first of them has come. */
  readonly blocksAhead: number
}

/** Fills a buffer with the bytes from a position on; tells how many there were. */
export type Fill = (block: Buffer, from: number) => Promise<number>

/**
 * The bytes of a range in their order, read in blocks of which several are under way at once. Ends
 * early where a block comes short: that is where the file ends. A block holds its bytes until the next
 * is asked for: the same few buffers are filled again and again, for new ones would keep the collector
 * busy.
 */
export async function* readAhead(
  fill: Fill,
  { from, to, blockBytes, blocksAhead }: Range,
): AsyncGenerator<Buffer> {
  const ring = Array.from({ length: blocksAhead + 1 }, () => Buffer.allocUnsafeSlow(blockBytes))
  const underWay: { readonly block: Buffer; readonly filled: Promise<number> }[] = []
  let at = from
  for (let asked = 0; ; ) {
    while (at < to && underWay.length < blocksAhead) {
      const buffer = ring[asked++ % ring.length] as Buffer
      const block = buffer.subarray(0, Math.min(blockBytes, to - at))
      const filled = fill(block, at)
      filled.catch(() => undefined)
      underWay.push({ block, filled })
      at += block.length
    }
    const next = underWay.shift()
    if (next === undefined) return
    const bytes = await next.filled
    if (bytes > 0) yield next.block.subarray(0, bytes)
    if (bytes < next.block.length) return
  }
}
