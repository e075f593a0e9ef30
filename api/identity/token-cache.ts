import { hash } from 'node:crypto'

/** A bounded memory of tokens, by their hash: two generations, the older of which is forgotten. */
export interface TokenCache<T> {
  get(token: string): T | undefined
  set(token: string, value: T): void
  delete(token: string): void
}

/**
 * Keeps at most `entriesMax` values. A token is kept as its SHA-256 only; what has been used lately
 * survives when the memory is full. With 0 nothing is kept.
 */
export function createTokenCache<T>(entriesMax: number): TokenCache<T> {
  const halfMax = Math.ceil(entriesMax / 2)
  let young = new Map<string, T>()
  let old = new Map<string, T>()
  const put = (key: string, value: T) => {
    if (young.size >= halfMax) {
      old = young
      young = new Map()
    }
    young.set(key, value)
  }
  if (entriesMax === 0) {
    return { get: () => undefined, set: () => undefined, delete: () => undefined }
  }
  return {
    get: (token) => {
      const key = keyOf(token)
      const value = young.get(key)
      if (value !== undefined) return value
      const kept = old.get(key)
      if (kept !== undefined) put(key, kept)
      return kept
    },
    set: (token, value) => put(keyOf(token), value),
    delete: (token) => {
      const key = keyOf(token)
      young.delete(key)
      old.delete(key)
    },
  }
}

function keyOf(token: string): string {
  return hash('sha256', token, 'base64')
}
