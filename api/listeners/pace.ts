/** Whether one more request of an address is within its requests a second. */
export type Pace = (address: string | number) => boolean

const addressesMax = 100_000

/** Counts requests of each address in each second of the clock. */
export function createPace(requestsPerSecondMax: number, now: () => number): Pace {
  let second = 0
  let counts = new Map<string | number, number>()
  return (address) => {
    const at = Math.floor(now() / 1_000)
    if (at !== second || counts.size > addressesMax) {
      second = at
      counts = new Map()
    }
    const count = (counts.get(address) ?? 0) + 1
    counts.set(address, count)
    return count <= requestsPerSecondMax
  }
}
