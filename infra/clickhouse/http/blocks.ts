import { cityHash128 } from './city-hash.js'

const blockBytesMax = 1024 * 1024
const checksumBytes = 16
const headBytes = 9
const lz4 = 0x82
/** A length in the token of LZ4; from here on bytes of 255 follow. */
const tokenMax = 15

/**
 * Bytes in the blocks that clients ask for with `compress=1`: CityHash128 of the rest, method, size with
 * this head, size of the content, content. The method is LZ4, which some clients insist on, but everything
 * in it is literal: the front serves this machine only, where packing costs more than it saves.
 */
export function toBlocks(bytes: Buffer): Buffer {
  const blocks: Buffer[] = []
  for (let at = 0; at < bytes.length; at += blockBytesMax) {
    blocks.push(toBlock(bytes.subarray(at, at + blockBytesMax)))
  }
  return Buffer.concat(blocks)
}

function toBlock(bytes: Buffer): Buffer {
  const { length } = bytes
  const more = length - tokenMax
  const lengthBytes = more < 0 ? 0 : Math.floor(more / 255) + 1
  const dataAt = checksumBytes + headBytes + 1 + lengthBytes
  const block = Buffer.alloc(dataAt + length, 255)
  block.writeUInt8(lz4, checksumBytes)
  block.writeUInt32LE(block.length - checksumBytes, checksumBytes + 1)
  block.writeUInt32LE(length, checksumBytes + 5)
  block.writeUInt8(Math.min(length, tokenMax) << 4, checksumBytes + headBytes)
  if (more >= 0) block.writeUInt8(more % 255, dataAt - 1)
  bytes.copy(block, dataAt)
  const [low, high] = cityHash128(block.subarray(checksumBytes))
  block.writeBigUInt64LE(low, 0)
  block.writeBigUInt64LE(high, 8)
  return block
}
