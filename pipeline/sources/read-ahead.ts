export interface Range {
  readonly from: number
  readonly to: number
  readonly blockBytes: number
  /** Blocks requested before the first one is received. */
  readonly blocksAhead: number
}

/** Fills a buffer with the bytes from a position on; returns how many there were. */
export type Fill = (block: Buffer, from: number) => Promise<number>

/**
 * The bytes of a range in order, read in several concurrent blocks. Ends early at a short block, which
 * is the end of the file. A block is valid until the next is read: the buffers are reused to avoid
 * garbage collection.
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
