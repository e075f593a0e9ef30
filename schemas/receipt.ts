import { z } from 'zod'
import { type FeedName, feedNames } from './feed.js'
import { parseTotal } from './quantity.js'
import { strict } from './strict.js'

/** Where a row that a receipt counts can end: in exactly one of these (decisions 21 and 22). */
export const outcomes = {
  accepted: { meaning: 'published as the current read of its meter and interval' },
  duplicate: { meaning: 'equal to a row of this file or to the read already published' },
  superseded: { meaning: 'another row of this file or a later arrival has the same interval' },
  rejected: { meaning: 'no usable row; the rejects file says why' },
  unregistered: { meaning: "no registered customer's meter, or of an erased account" },
} as const

export type Outcome = keyof typeof outcomes
export const outcomeNames = Object.keys(outcomes) as readonly Outcome[]

const sixOf = <T extends z.ZodType>(value: T) =>
  strict({
    read: value,
    accepted: value,
    duplicate: value,
    superseded: value,
    rejected: value,
    unregistered: value,
  })

const count = z.int().min(0)
const quantity = z.string().refine((text) => parseTotal(text) !== undefined)
const instant = z.iso.datetime()

/**
 * The receipt of one arrival, `<file name>.receipt.json` (file layouts). Instants are ISO 8601 in
 * UTC, quantities decimal strings as sent. What is not known, or not of this feed, is null or left
 * out; `reason` is a fault's code and detail, or names the first receipt of a duplicate. Only what
 * is published is accepted: of a quarantined file `rows` count the rejected ones, and `held`
 * of all others that it holds. `roundedRows` had more decimals than are kept, whatever became of them.
 * Of `repeatedHourRows` nothing proves the hour of `ambiguousHourRows` (decision 15).
 */
export const receiptSchema = z
  .strictObject({
    fileName: z.string().min(1),
    fileId: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .nullable(),
    feed: z.enum(feedNames as readonly [FeedName, ...FeedName[]]).nullable(),
    status: z.enum(['published', 'quarantined', 'duplicate', 'waiting']),
    reason: z.string().nullish(),
    rows: sixOf(count),
    quantity: sixOf(quantity).nullish(),
    held: strict({ rows: count, quantity }).nullish(),
    restated: strict({ rows: count, netQuantity: quantity }).nullish(),
    meters: count.nullish(),
    firstIntervalStart: instant.nullish(),
    lastIntervalEnd: instant.nullish(),
    timestampFormat: z.string().nullish(),
    dateOrder: z.enum(['MDY', 'DMY', 'mixed']).nullish(),
    dateOrderProof: z.string().nullish(),
    repeatedHourRows: count.nullish(),
    ambiguousHourRows: count.nullish(),
    roundedRows: count.nullish(),
    notes: z.array(z.string()).readonly().optional(),
    receivedAt: instant,
    publishedAt: instant.nullish(),
    seconds: z.number().min(0).nullish(),
  })
  .refine(({ status, rows }) => status === 'published' || rows.accepted === 0)
  .readonly()

export type Receipt = z.output<typeof receiptSchema>

/** Whether every row and all energy that was read is found in exactly one of the five outcomes. */
export function balance({ rows, quantity }: Pick<Receipt, 'rows' | 'quantity'>): boolean {
  const rowsFound = outcomeNames.reduce((sum, name) => sum + rows[name], 0)
  if (rowsFound !== rows.read) return false
  if (quantity === undefined || quantity === null) return true
  const totals = outcomeNames.map((name) => parseTotal(quantity[name]))
  let found = 0n
  for (const total of totals) {
    if (total === undefined) return false
    found += total
  }
  return found === parseTotal(quantity.read)
}
