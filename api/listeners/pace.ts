/**
 * Whether one more request is within the limit of its address; `at` is `performance.now()`.
 */
export type RateLimit = (at: number, address: () => string | number) => boolean

const addressesMax = 100_000
/** How long requests are counted per address after a second above the limit. */
const watchSeconds = 60

/**
 * Limits the requests per second of each address. While all requests together stay within the limit,
 * no address can exceed it and none is looked up. Counting starts in the first second above the
 * limit; in that second alone an address may send up to twice the limit.
 */
export function createRateLimit(requestsPerSecondMax: number): RateLimit {
  let second = 0
  let total = 0
  let watchUntil = 0
  let counts = new Map<string | number, number>()
  return (ms, address) => {
    const at = Math.floor(ms / 1_000)
    if (at !== second || counts.size > addressesMax) {
      second = at
      total = 0
      if (counts.size > 0) counts = new Map()
    }
    total++
    if (total > requestsPerSecondMax) watchUntil = at + watchSeconds
    if (at >= watchUntil) return true
    const who = address()
    const count = (counts.get(who) ?? 0) + 1
    counts.set(who, count)
    return count <= requestsPerSecondMax
  }
}
