import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)
const keyBytes = 32
const cost = { N: 32_768, r: 8, p: 1 } as const
const costMax = 1_048_576
/** scrypt needs 128 * N * r bytes and a little more. */
const memoryBytes = ({ N, r }: { readonly N: number; readonly r: number }) => 256 * N * r

/** `scrypt$N$r$p$salt$hash` of a password, with a random salt (RFC 7914). */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const hash = await derive(password, salt, keyBytes, { ...cost, maxmem: memoryBytes(cost) })
  const parts = [cost.N, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')]
  return `scrypt$${parts.join('$')}`
}

/** Whether a password matches a hash, in constant time. */
export async function isPassword(password: string, stored: string): Promise<boolean> {
  const [, n, r, p, salt = '', hash = ''] = stored.split('$')
  const own = { N: Math.min(Number(n), costMax), r: Number(r), p: Number(p) }
  const options = { ...own, maxmem: memoryBytes(own) }
  const derived = await derive(password, Buffer.from(salt, 'base64url'), keyBytes, options)
  const wanted = Buffer.from(hash, 'base64url')
  return wanted.length === derived.length && timingSafeEqual(wanted, derived)
}
