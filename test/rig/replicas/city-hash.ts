/** Two unsigned 64-bit numbers, the low one first. */
type Pair = readonly [bigint, bigint]

const mask = (1n << 64n) - 1n
const k0 = 0xc3a5c85c97cb3127n
const k1 = 0xb492b66fbe98f273n
const mul = 0x9ddfea08eb382d69n
const blockBytes = 2_048

/** The hash of a file in a part: CityHash 1.0.2 of its blocks, each seeded with the one before. */
export function hashOfFile(bytes: Buffer): Buffer {
  let state: Pair = [0n, 0n]
  for (let at = 0; at < bytes.length; at += blockBytes) {
    state = cityHash(bytes.subarray(at, at + blockBytes), state)
  }
  const hash = Buffer.alloc(16)
  hash.writeBigUInt64LE(state[0])
  hash.writeBigUInt64LE(state[1], 8)
  return hash
}

const u64 = (value: bigint): bigint => value & mask
const rotate = (value: bigint, by: bigint): bigint => u64((value >> by) | (value << (64n - by)))
const shiftMix = (value: bigint): bigint => value ^ (value >> 47n)

function hash16([low, high]: Pair): bigint {
  const a = shiftMix(u64((low ^ high) * mul))
  return u64(shiftMix(u64((high ^ a) * mul)) * mul)
}

function weakHash32(bytes: Buffer, at: number, [low, high]: Pair): Pair {
  const [w, x, y, z] = [0, 8, 16, 24].map((by) => bytes.readBigUInt64LE(at + by)) as [
    bigint,
    bigint,
    bigint,
    bigint,
  ]
  const a = u64(low + w)
  const b = rotate(u64(high + a + z), 21n)
  const sum = u64(a + x + y)
  return [u64(sum + z), u64(b + rotate(sum, 44n) + a)]
}

function hashUpTo16(bytes: Buffer): bigint {
  const { length } = bytes
  const long = BigInt(length)
  if (length > 8) {
    const a = bytes.readBigUInt64LE(0)
    const b = bytes.readBigUInt64LE(length - 8)
    return hash16([a, rotate(u64(b + long), long)]) ^ b
  }
  if (length >= 4) {
    const a = BigInt(bytes.readUInt32LE(0))
    return hash16([long + (a << 3n), BigInt(bytes.readUInt32LE(length - 4))])
  }
  if (length === 0) return 0x9ae16a3b2f90404fn
  const at = (index: number): bigint => BigInt(bytes[index] as number)
  const y = at(0) + (at(length >> 1) << 8n)
  const z = long + (at(length - 1) << 2n)
  return u64(
    shiftMix(u64(y * 0x9ae16a3b2f90404fn) ^ u64(z * 0xc949d7c7509e6557n)) * 0x9ae16a3b2f90404fn,
  )
}

function cityMurmur(bytes: Buffer, seed: Pair): Pair {
  const { length } = bytes
  let [a, b] = seed
  let c: bigint
  let d: bigint
  if (length <= 16) {
    a = u64(shiftMix(u64(a * k1)) * k1)
    c = u64(b * k1 + hashUpTo16(bytes))
    d = shiftMix(u64(a + (length >= 8 ? bytes.readBigUInt64LE(0) : c)))
  } else {
    c = hash16([u64(bytes.readBigUInt64LE(length - 8) + k1), a])
    d = hash16([u64(b + BigInt(length)), u64(c + bytes.readBigUInt64LE(length - 16))])
    a = u64(a + d)
    for (let at = 0; at < length - 16; at += 16) {
      a = u64((a ^ u64(shiftMix(u64(bytes.readBigUInt64LE(at) * k1)) * k1)) * k1)
      b ^= a
      c = u64((c ^ u64(shiftMix(u64(bytes.readBigUInt64LE(at + 8) * k1)) * k1)) * k1)
      d ^= c
    }
  }
  a = hash16([a, c])
  b = hash16([d, b])
  return [a ^ b, hash16([b, a])]
}

function cityHash(bytes: Buffer, seed: Pair): Pair {
  if (bytes.length < 128) return cityMurmur(bytes, seed)
  const word = (at: number): bigint => bytes.readBigUInt64LE(at)
  let [x, y] = seed
  let z = u64(BigInt(bytes.length) * k1)
  const first = u64(rotate(y ^ k1, 49n) * k1 + word(0))
  let v: Pair = [first, u64(rotate(first, 42n) * k1 + word(8))]
  let w: Pair = [u64(rotate(u64(y + z), 35n) * k1 + x), u64(rotate(u64(x + word(88)), 53n) * k1)]
  const whole = bytes.length - (bytes.length % 128)
  for (let at = 0; at < whole; at += 64) {
    x = u64(rotate(u64(x + y + v[0] + word(at + 16)), 37n) * k1) ^ w[1]
    y = u64(rotate(u64(y + v[1] + word(at + 48)), 42n) * k1) ^ v[0]
    z = rotate(z ^ w[0], 33n)
    v = weakHash32(bytes, at, [u64(v[1] * k1), u64(x + w[0])])
    w = weakHash32(bytes, at + 32, [u64(z + w[1]), y])
    ;[z, x] = [x, z]
  }
  y = u64(y + rotate(w[0], 37n) * k0 + z)
  x = u64(x + rotate(u64(v[0] + z), 49n) * k0)
  for (let done = 32; done < bytes.length - whole + 32; done += 32) {
    const at = bytes.length - done
    y = u64(rotate(u64(y - x), 42n) * k0 + v[1])
    w = [u64(w[0] + word(at + 16)), w[1]]
    x = u64(rotate(x, 49n) * k0 + w[0])
    w = [u64(w[0] + v[0]), w[1]]
    v = weakHash32(bytes, at, v)
  }
  x = hash16([x, v[0]])
  y = hash16([y, w[0]])
  return [u64(hash16([u64(x + v[1]), w[1]]) + y), hash16([u64(x + w[1]), u64(y + v[1])])]
}
