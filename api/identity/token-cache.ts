import { hash } from 'node:crypto'

/** A bounded cache of tokens. */
export interface TokenCache<T> extends Memory<T> {
  /** How often a token was found, and how often not, since the start. */
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

/** How many characters of tokens are remembered in plain text. */
const recentCharactersMax = 8_000_000
/** The end of a signature nearly always differs; a match is then compared in full. */
const endLength = 16

/**
 * Keeps at most `entriesMax` values by the SHA-256 of their token; recently used values survive when
 * it is full. Hashing a token costs more than answering it, so the latest tokens are also kept in
 * plain text, in this process only. With 0, nothing is kept.
 */
export function createTokenCache<T>(entriesMax: number): TokenCache<T> {
  const hashed = createGenerations<T>(entriesMax, () => 1)
  const recent = createGenerations<Recent<T>>(recentCharactersMax, ({ token }) => token.length)
  const counts = { hits: 0, misses: 0 }
  const find = (token: string): T | undefined => {
    if (entriesMax === 0) return undefined
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
      if (entriesMax === 0) return
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

/** Two generations: once the younger one has half of `weightMax`, the older one is dropped. */
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
