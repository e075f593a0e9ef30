import type { FaultCode } from '../../schemas/fault.js'

const retry = { firstMs: 200, mostMs: 10_000 }
/** A file that waits for one ahead is run when that one has its verdict; each attempt costs most of one. */
const aheadMs = 30_000

/** How long a job waits after its failures, of which the last has this code. */
export function retryMs(failures: number, code: string | undefined): number {
  return code === ('FILE_AHEAD' satisfies FaultCode) ? aheadMs : pauseMsOf(failures, retry)
}

/** Exponential back-off delay, capped. */
export function pauseMsOf(
  failures: number,
  { firstMs, mostMs }: { readonly firstMs: number; readonly mostMs: number },
): number {
  return Math.min(firstMs * 2 ** Math.min(failures - 1, 20), mostMs)
}

/** Whether a pause still lasts. A pause longer than the maximum was written by a wrong clock. */
export function isLeftAlone(pause: {
  readonly untilMs: number
  readonly nowMs: number
  readonly mostMs: number
}): boolean {
  const leftMs = pause.untilMs - pause.nowMs
  return leftMs > 0 && leftMs <= pause.mostMs
}
