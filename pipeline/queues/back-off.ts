/** Milliseconds to leave alone what has failed so often in a row: twice as long each time, up to a most. */
export function pauseMsOf(
  failures: number,
  { firstMs, mostMs }: { readonly firstMs: number; readonly mostMs: number },
): number {
  return Math.min(firstMs * 2 ** Math.min(failures - 1, 20), mostMs)
}

/** Whether a pause still lasts. One that is longer than any was written when the clock was wrong. */
export function isLeftAlone(pause: {
  readonly untilMs: number
  readonly nowMs: number
  readonly mostMs: number
}): boolean {
  const leftMs = pause.untilMs - pause.nowMs
  return leftMs > 0 && leftMs <= pause.mostMs
}
