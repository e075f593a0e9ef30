import { hash } from 'node:crypto'

/** A bounded memory of tokens. */
export interface TokenCache<T> extends Memory<T> {
  /** How often a token was looked for, and found or not, since the start. */
  counts(): CacheCounts
}

export interface CacheCounts {
  readonly hits: number
  readonly misses: number
}

interface Memory<T> {
  get(token: string): T | undefined
  set(token: string, value: T): void
  delete(token: string): void
}

/** Characters of tokens that are remembered as they are, at most. */
const recentCharactersMax = 8_000_000
/** The end of a signature tells tokens apart nearly always; what it finds is compared whole. */
const endLength = 16

/**
 * Keeps at most `entriesMax` values, each under the SHA-256 of its token; what has been used lately
 * survives when the memory is full. Since hashing a token costs more than answering it, the latest
 * are remembered as they are besides, in this process and nowhere else. With 0 nothing is kept.
 */
export function createTokenCache<T>(entriesMax: number): TokenCache<T> {
  if (entriesMax === 0) {
    let misses = 0
    return {
      get: () => {
        misses++
        return undefined
      },
      set: () => undefined,
      delete: () => undefined,
      counts: () => ({ hits: 0, misses }),
    }
  }
  const hashed = createGenerations<T>(entriesMax, () => 1)
  const recent = createGenerations<Recent<T>>(recentCharactersMax, ({ token }) => token.length)
  const counts = { hits: 0, misses: 0 }
  const find = (token: string): T | undefined => {
    const end = token.slice(-endLength)
    const known = recent.get(end)
    if (known !== undefined && known.token === token) return known.value
    const value = hashed.get(keyOf(token))
    if (value !== undefined) recent.set(end, { token, value })
    return value
  }
  return {
    get: (token) => {
      const value = find(token)
      if (value === undefined) counts.misses++
      else counts.hits++
      return value
    },
    set: (token, value) => {
      recent.delete(token.slice(-endLength))
      hashed.set(keyOf(token), value)
    },
    delete: (token) => {
      recent.delete(token.slice(-endLength))
      hashed.delete(keyOf(token))
    },
    counts: () => ({ ...counts }),
  }
}

interface Recent<T> {
  readonly token: string
  readonly value: T
}

function keyOf(token: string): string {
  return hash('sha256', token, 'base64')
}

/** Two generations, the older of which is forgotten once the younger weighs half of `weightMax`. */
function createGenerations<T>(weightMax: number, weigh: (value: T) => number): Memory<T> {
  const halfMax = Math.ceil(weightMax / 2)
  let young = new Map<string, T>()
  let old = new Map<string, T>()
  let weight = 0
  const set = (key: string, value: T) => {
    if (weight >= halfMax) {
      old = young
      young = new Map()
      weight = 0
    }
    young.set(key, value)
    weight += weigh(value)
  }
  return {
    get: (key) => {
      const value = young.get(key)
      if (value !== undefined) return value
      const kept = old.get(key)
      if (kept !== undefined) set(key, kept)
      return kept
    },
    set,
    delete: (key) => {
      young.delete(key)
      old.delete(key)
    },
  }
}
