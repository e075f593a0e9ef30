/**
 * Whether one more request is within its address's requests a second; `at` is `performance.now()`.
 */
export type RateLimit = (at: number, address: () => string | number) => boolean

const addressesMax = 100_000
/** How long addresses are told apart after a second in which that was needed, seconds. */
const watchSeconds = 60

/**
 * Counts requests of each address in each second of the clock. While all requests together are
 * within the limit no address can be above it, and none is asked for; the first second that passes
 * it begins to count there, so that only in that one an address may have up to twice its due.
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
