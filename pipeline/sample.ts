import { parseRow } from './csv.js'
import { splitRows } from './rows.js'
import type { Stamp } from './stamps.js'

const rowsMax = 4_000
const daySeconds = 86_400

/**
 * The interval length of a file as its first rows show it, in seconds: the smallest gap between
 * the stamps of one meter, else between any two different stamps, else `fallback`.
 */
export function sampleSeconds(
  head: Buffer,
  readStamp: (text: string) => Stamp | undefined,
  fallback: number,
): number {
  const startsByMeter = new Map<string, number[]>()
  let rows = 0
  for (const { raw } of splitRows(head.subarray(0, head.lastIndexOf(10) + 1 || head.length), 1)) {
    const fields = parseRow(raw)
    const stamp = fields?.length === 5 ? readStamp((fields[3] ?? '').trim()) : undefined
    if (stamp === undefined) continue
    const meter = (fields?.[2] ?? '').trim()
    const starts = startsByMeter.get(meter)
    if (starts === undefined) startsByMeter.set(meter, [stamp.startsAt])
    else starts.push(stamp.startsAt)
    if (++rows === rowsMax) break
  }
  const gap =
    smallestGap([...startsByMeter.values()]) ?? smallestGap([[...startsByMeter.values()].flat()])
  if (gap === undefined) return fallback
  return gap > daySeconds - 7_200 ? daySeconds : gap
}

function smallestGap(series: readonly (readonly number[])[]): number | undefined {
  let smallest: number | undefined
  for (const starts of series) {
    const sorted = [...starts].sort((a, b) => a - b)
    for (let at = 1; at < sorted.length; at++) {
      const gap = (sorted[at] as number) - (sorted[at - 1] as number)
      if (gap > 0 && (smallest === undefined || gap < smallest)) smallest = gap
    }
  }
  return smallest
}
