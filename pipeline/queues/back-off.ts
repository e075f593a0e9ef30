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
