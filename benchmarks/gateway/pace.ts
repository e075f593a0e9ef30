import { setTimeout as sleep } from 'node:timers/promises'

/** Of calls that succeeded, in milliseconds from when they were due. */
export interface Latencies {
  readonly calls: number
  readonly failed: number
  /** Calls that succeeded, a second. */
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Makes a call; false where its answer is wrong. */
export type TimedCall = (at: number) => Promise<boolean>

/** Calls one after the other. */
export async function inTurn(call: TimedCall, count: number): Promise<Latencies> {
  const from = performance.now()
  const times: number[] = []
  for (let at = 0; at < count; at++) await time(() => call(at), performance.now(), times)
  return toLatencies(times, count, from)
}

export interface CallRate {
  readonly perSecond: number
  readonly seconds: number
}

/** Calls at an even rate, whether or not those before have ended: what waits counts as slow. */
export async function pace(call: TimedCall, { perSecond, seconds }: CallRate): Promise<Latencies> {
  const from = performance.now()
  const times: number[] = []
  const running: Promise<void>[] = []
  for (let at = 0; at < perSecond * seconds; at++) {
    const due = from + (at * 1_000) / perSecond
    await sleep(Math.max(0, due - performance.now()))
    running.push(time(() => call(at), due, times))
  }
  await Promise.all(running)
  return toLatencies(times, running.length, from)
}

async function time(call: () => Promise<boolean>, due: number, times: number[]): Promise<void> {
  if (await call()) times.push(performance.now() - due)
}

/** Of calls that began at `from`; the times are those of the calls that succeeded, milliseconds. */
export function toLatencies(times: readonly number[], calls: number, from: number): Latencies {
  const perSecond = times.length / ((performance.now() - from) / 1_000)
  const sorted = times.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
  return { calls, failed: calls - times.length, perSecond, p50Ms: at(0.5), p99Ms: at(0.99) }
}

export function renderLatencies(latencies: Latencies): string {
  const { calls, failed, perSecond, p50Ms, p99Ms } = latencies
  const answered = `${calls - failed} of ${calls}, ${perSecond.toFixed(1)} a second`
  return `p50 ${p50Ms.toFixed(1)} ms  p99 ${p99Ms.toFixed(1)} ms  ${answered}`
}
