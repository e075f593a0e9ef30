/**
 * A number from 0 to 2^32 - 1 that depends only on its arguments (murmur3's finalizer). Any value of
 * a generated file can be computed again without the file.
 */
export function draw(seed: number, stream: number, index: number): number {
  let hash = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 15) ^ stream, 0xc2b2ae35)
  hash = Math.imul(hash ^ (hash >>> 13) ^ index, 0x27d4eb2f)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}
