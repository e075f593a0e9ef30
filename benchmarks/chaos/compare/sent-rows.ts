import { draw } from '../../../infra/demo/draw.js'
import { lineOf, type UsageRow, usageRows } from '../../../infra/demo/usage-rows.js'
import type { PlannedFile } from '../plan.js'

/** A row of a file as it is written; quantities are thousandths of a unit. */
export interface SentRow extends UsageRow {
  readonly milli: number
}

const streams = { correction: 31, amount: 32, twin: 33 } as const
const positionsMax = 100_000
const correctedOneIn = 97
const twinOneIn = 211
const staleMilli = 7_000

/** The meter of a family whose tenant changes in the middle of the files. */
export const movedMeter = 2
export const accountBefore = (account: string) => `9${account}`
/** An account that nobody registers, such as a landlord's between two tenants. */
const accountBetween = (account: string) => `8${account}`
const betweenOneIn = 7

/**
 * The rows of a file in their order. A correction repeats the file that it corrects with some other
 * quantities; a sparse one holds these reads and the one behind each, which shows their length. Now and then a row stands twice, equal, or stands behind one with another quantity.
 */
export function* sentRows(file: PlannedFile): Generator<SentRow> {
  const { usage, correction, twinSeed } = file
  const rowsEach = file.usage.days * Math.round(86_400 / usage.intervalSeconds)
  let count = 0
  for (const row of usageRows(usage)) {
    const at = { meter: Math.floor(count / rowsEach), position: count % rowsEach }
    const place = at.meter * positionsMax + at.position
    count++
    const sent = { ...row, accountNumber: accountAt(row.accountNumber, at, rowsEach) }
    const more = correctionMilli(usage.seed, correction, place)
    const isNear = more > 0 || correctionMilli(usage.seed, correction, place - 1) > 0
    if (file.isSparse && !isNear) continue
    const milli = Number(row.quantityMicro / 1_000n) + more
    const twin = draw(twinSeed, streams.twin, place) % twinOneIn
    if (twin === 0 && row.flaw === undefined) yield withMilli(sent, milli + staleMilli)
    yield withMilli(sent, milli)
    if (twin === 1 && row.flaw === undefined) yield withMilli(sent, milli)
  }
}

/** Always more than before, so that a correction half applied has a sum of its own. */
function correctionMilli(seed: number, correction: number, place: number): number {
  if (correction === 0) return 0
  if (draw(seed + correction, streams.correction, place) % correctedOneIn !== 0) return 0
  return 1 + (draw(seed + correction, streams.amount, place) % 500)
}

interface At {
  readonly meter: number
  readonly position: number
}

function accountAt(account: string, { meter, position }: At, rowsEach: number): string {
  if (meter !== movedMeter) return account
  if (position % betweenOneIn === betweenOneIn - 1) return accountBetween(account)
  return position < rowsEach / 2 ? accountBefore(account) : account
}

function withMilli(row: UsageRow, milli: number): SentRow {
  return { ...row, milli, quantityMicro: BigInt(milli) * 1_000n, line: lineOf(row, milli) }
}
