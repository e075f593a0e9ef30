const k0 = 0xc3a5c85c97cb3127n
const k1 = 0xb492b66fbe98f273n
const k2 = 0x9ae16a3b2f90404fn
const k3 = 0xc949d7c7509e6557n
const kMul = 0x9ddfea08eb382d69n

/** Without these the engine of JavaScript would not know that 64 bits are enough. */
const u64 = (value: bigint): bigint => BigInt.asUintN(64, value)
const rotated = (value: bigint, bits: bigint): bigint =>
  u64((u64(value) >> bits) | (value << (64n - bits)))
const shiftMix = (value: bigint): bigint => value ^ (value >> 47n)

type Pair = readonly [low: bigint, high: bigint]

/**
 * CityHash128 of version 1.0.2, which ClickHouse keeps for the checksums of its compressed blocks; later
 * versions give other values. At least 8 bytes.
 */
export function cityHash128(bytes: Buffer): Pair {
  const { length } = bytes
  if (length >= 16) {
    const seed: Pair = [u64(bytes.readBigUInt64LE(0) ^ k3), bytes.readBigUInt64LE(8)]
    return withSeed(bytes.subarray(16), seed)
  }
  return withSeed(Buffer.alloc(0), [
    u64(bytes.readBigUInt64LE(0) ^ u64(BigInt(length) * k0)),
    u64(bytes.readBigUInt64LE(length - 8) ^ k1),
  ])
}

function withSeed(bytes: Buffer, seed: Pair): Pair {
  return bytes.length < 128 ? ofShort(bytes, seed) : ofLong(bytes, seed)
}

function ofShort(bytes: Buffer, seed: Pair): Pair {
  const { length } = bytes
  let [a, b] = seed
  let c = 0n
  let d = 0n
  if (length <= 16) {
    a = u64(shiftMix(u64(a * k1)) * k1)
    c = u64(b * k1 + ofUpTo16(bytes))
    d = shiftMix(u64(a + (length >= 8 ? bytes.readBigUInt64LE(0) : c)))
  } else {
    c = mixed(u64(bytes.readBigUInt64LE(length - 8) + k1), a)
    d = mixed(u64(b + BigInt(length)), u64(c + bytes.readBigUInt64LE(length - 16)))
    a = u64(a + d)
    for (let at = 0; at < length - 16; at += 16) {
      a = u64((a ^ (shiftMix(u64(bytes.readBigUInt64LE(at) * k1)) * k1)) * k1)
      b ^= a
      c = u64((c ^ (shiftMix(u64(bytes.readBigUInt64LE(at + 8) * k1)) * k1)) * k1)
      d ^= c
    }
  }
  a = mixed(a, c)
  b = mixed(d, b)
  return [a ^ b, mixed(b, a)]
}

function ofUpTo16(bytes: Buffer): bigint {
  const { length } = bytes
  if (length > 8) {
    const last = bytes.readBigUInt64LE(length - 8)
    const turned = rotated(last + BigInt(length), BigInt(length))
    return mixed(bytes.readBigUInt64LE(0), turned) ^ last
  }
  if (length >= 4) {
    const first = BigInt(bytes.readUInt32LE(0))
    return mixed(BigInt(length) + (first << 3n), BigInt(bytes.readUInt32LE(length - 4)))
  }
  if (length === 0) return k2
  const at = (index: number): bigint => BigInt(bytes[index] as number)
  const y = at(0) + (at(length >> 1) << 8n)
  const z = BigInt(length) + (at(length - 1) << 2n)
  return u64(shiftMix(u64((y * k2) ^ (z * k3))) * k2)
}

/** Numbers of the 64-bit registers of the loop; the order is that of the values in `ofLong`. */
const x = 0
const y = 1
const z = 2
const v0 = 3
const v1 = 4
const w0 = 5
const w1 = 6
const a = 7
const b = 8
const c = 9
const word = 10

function ofLong(bytes: Buffer, [low, high]: Pair): Pair {
  const at = (index: number): bigint => bytes.readBigUInt64LE(index)
  const zStart = u64(BigInt(bytes.length) * k1)
  const v0Start = u64(rotated(high ^ k1, 49n) * k1 + at(0))
  const r = BigUint64Array.of(
    ...[low, high, zStart, v0Start, rotated(v0Start, 42n) * k1 + at(8)],
    ...[rotated(high + zStart, 35n) * k1 + low, rotated(low + at(88), 53n) * k1, 0n, 0n, 0n, 0n],
  )
  const end = bytes.length - (bytes.length % 128)
  mixWhole(bytes.subarray(0, end), new Int32Array(r.buffer))
  const get = (register: number): bigint => r[register] as bigint
  r[y] = get(y) + rotated(get(w0), 37n) * k0 + get(z)
  r[x] = get(x) + rotated(get(v0) + get(z), 49n) * k0
  for (let from = bytes.length - 32; from > end - 32; from -= 32) {
    r[y] = rotated(get(y) - get(x), 42n) * k0 + get(v1)
    r[w0] = get(w0) + at(from + 16)
    r[x] = rotated(get(x), 49n) * k0 + get(w0)
    r[w0] = get(w0) + get(v0)
    const first = get(v0) + at(from)
    const sum = first + at(from + 8) + at(from + 16)
    r[v1] = rotated(get(v1) + first + at(from + 24), 21n) + rotated(sum, 44n) + first
    r[v0] = sum + at(from + 24)
  }
  r[x] = mixed(get(x), get(v0))
  r[y] = mixed(get(y), get(w0))
  return [u64(mixed(get(x) + get(v1), get(w1)) + get(y)), mixed(get(x) + get(w1), get(y) + get(v1))]
}

/**
 * The loop over the bytes, in halves of 32 bits: numbers are some ten times faster than bigints. `r` has
 * two halves for each register, the lower first.
 */
function mixWhole(bytes: Buffer, r: Int32Array): void {
  const words = new Int32Array(new Uint8Array(bytes).buffer)
  const load = (register: number, at: number): void => {
    r[register * 2] = words[at] as number
    r[register * 2 + 1] = words[at + 1] as number
  }
  const addWord = (register: number, at: number): void => {
    load(word, at)
    add(r, register, word)
  }
  const weak = (first: number, second: number, at: number): void => {
    // Adds to a and b, which hold the seeds.
    addWord(a, at)
    add(r, b, a)
    addWord(b, at + 6)
    rotate(r, b, 21)
    copy(r, c, a)
    addWord(a, at + 2)
    addWord(a, at + 4)
    copy(r, first, a)
    addWord(first, at + 6)
    rotate(r, a, 44)
    add(r, b, a)
    add(r, b, c)
    copy(r, second, b)
  }
  for (let at = 0; at < words.length; at += 16) {
    add(r, x, y)
    add(r, x, v0)
    addWord(x, at + 4)
    rotate(r, x, 37)
    multiply(r, x)
    add(r, y, v1)
    addWord(y, at + 12)
    rotate(r, y, 42)
    multiply(r, y)
    exclude(r, x, w1)
    exclude(r, y, v0)
    exclude(r, z, w0)
    rotate(r, z, 33)
    copy(r, a, v1)
    multiply(r, a)
    copy(r, b, x)
    add(r, b, w0)
    weak(v0, v1, at)
    copy(r, a, z)
    add(r, a, w1)
    copy(r, b, y)
    weak(w0, w1, at + 8)
    copy(r, c, z)
    copy(r, z, x)
    copy(r, x, c)
  }
}

function copy(r: Int32Array, to: number, from: number): void {
  r[to * 2] = r[from * 2] as number
  r[to * 2 + 1] = r[from * 2 + 1] as number
}

function exclude(r: Int32Array, to: number, from: number): void {
  r[to * 2] = (r[to * 2] as number) ^ (r[from * 2] as number)
  r[to * 2 + 1] = (r[to * 2 + 1] as number) ^ (r[from * 2 + 1] as number)
}

function add(r: Int32Array, to: number, from: number): void {
  const low = ((r[to * 2] as number) >>> 0) + ((r[from * 2] as number) >>> 0)
  r[to * 2] = low | 0
  r[to * 2 + 1] =
    ((r[to * 2 + 1] as number) + (r[from * 2 + 1] as number) + (low > 0xffffffff ? 1 : 0)) | 0
}

/** To the right. */
function rotate(r: Int32Array, register: number, bits: number): void {
  const low = r[register * 2] as number
  const high = r[register * 2 + 1] as number
  const first = bits < 32 ? low : high
  const second = bits < 32 ? high : low
  const by = bits & 31
  r[register * 2] = (first >>> by) | (second << (32 - by))
  r[register * 2 + 1] = (second >>> by) | (first << (32 - by))
}

const k1Low = Number(k1 & 0xffffffffn) | 0
const k1High = Number(k1 >> 32n) | 0
const k1Even = k1Low & 0xffff
const k1Odd = k1Low >>> 16

/** By k1, from products of 16 bits. */
function multiply(r: Int32Array, register: number): void {
  const low = r[register * 2] as number
  const high = r[register * 2 + 1] as number
  const even = low & 0xffff
  const odd = low >>> 16
  const bottom = Math.imul(even, k1Even)
  const middle = (Math.imul(odd, k1Even) + (bottom >>> 16)) >>> 0
  const other = (Math.imul(even, k1Odd) + (middle & 0xffff)) >>> 0
  r[register * 2] = (other << 16) | (bottom & 0xffff)
  const carried = Math.imul(odd, k1Odd) + (middle >>> 16) + (other >>> 16)
  r[register * 2 + 1] = (carried + Math.imul(low, k1High) + Math.imul(high, k1Low)) | 0
}

function mixed(low: bigint, high: bigint): bigint {
  const a = shiftMix(u64((low ^ high) * kMul))
  return u64(shiftMix(u64((high ^ a) * kMul)) * kMul)
}
