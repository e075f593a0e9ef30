import type { Logger } from 'pino'
import { pauseMsOf } from './queues/back-off.js'

/** A line of a log that an outage may repeat. */
export interface LimitedLine {
  readonly level: 'warn' | 'error'
  readonly text: string
  /** With level and text, what makes two lines equal. */
  readonly same: object
  /** What may differ between equal lines: ids and counts. */
  readonly more?: object | undefined
}

interface Repeated {
  /** Lines that are held back. */
  times: number
  /** How often the line was written. */
  written: number
  dueMs: number
  seenMs: number
  write: (times: number) => void
}

/** After this time without an equal line, the next one is the first again. */
const quietMs = 60_000
const pauses = { firstMs: 60_000, mostMs: 3_600_000 }

/**
 * Writes the first of equal lines at once. Those that follow are held back, and one with their number is
 * written after one minute, then after twice as long each time, at most an hour.
 */
export function createLineLimit(): (key: string, nowMs: number, write: Repeated['write']) => void {
  const known = new Map<string, Repeated>()
  return (key, nowMs, write) => {
    for (const [ended, { seenMs, times, write }] of known) {
      if (nowMs - seenMs < quietMs) continue
      known.delete(ended)
      if (times > 0) write(times)
    }
    const found = known.get(key)
    if (found === undefined) {
      write(1)
      known.set(key, { times: 0, written: 1, dueMs: nowMs + pauses.firstMs, seenMs: nowMs, write })
      return
    }
    found.times++
    found.seenMs = nowMs
    found.write = write
    if (nowMs < found.dueMs) return
    write(found.times)
    found.times = 0
    found.written++
    found.dueMs = nowMs + pauseMsOf(found.written, pauses)
  }
}

const limits = new WeakMap<Logger, ReturnType<typeof createLineLimit>>()

/** Logs a line that an outage may repeat a thousand times; `times` is the number of equal ones. */
export function logLimited(log: Logger, { level, text, same, more }: LimitedLine): void {
  const limit = limits.get(log) ?? createLineLimit()
  limits.set(log, limit)
  limit(JSON.stringify([level, text, same]), performance.now(), (times) =>
    log[level]({ ...more, ...same, ...(times > 1 && { times }) }, text),
  )
}
