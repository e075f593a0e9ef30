import { z } from 'zod'
import { listProblems, remedy } from '../problem.js'
import { isDay } from '../record-value.js'
import { identifierSchema } from './customer.js'

/** The days that the store and the zone know. */
const [firstDay, lastDay] = ['1970-01-02', '2105-12-31'] as const
const day = z
  .string()
  .refine(
    (text) => isDay(text) && text >= firstDay && text <= lastDay,
    `use a day from ${firstDay} to ${lastDay}, YYYY-MM-DD`,
  )
/** Without zeros in front, which the store does not read. */
const seq = z.string().regex(/^(0|[1-9]\d{0,14})$/, 'use the publishedSeq of an earlier answer')
/** One of bills has three identifiers, of 64 characters each. */
const cursor = z.string().max(1_200, 'use the cursor of the answer before')

const granularities = ['interval', 'hour', 'day', 'month', 'billingPeriod'] as const
export type Granularity = (typeof granularities)[number]

const days = {
  from: day.describe('First local day'),
  to: day.describe('Last local day, included'),
}
const paged = { cursor: cursor.describe('Of the answer before, for its next page').optional() }

export const usageQuerySchema = z.strictObject({
  meterId: identifierSchema,
  ...days,
  granularity: z.enum(granularities).default('day'),
  since: seq
    .describe('publishedSeq of an earlier answer: returns only what has changed after it')
    .optional(),
  ...paged,
})
export type UsageQuery = z.output<typeof usageQuerySchema>

export const billsQuerySchema = z.strictObject({ ...days, ...paged })
export type BillsQuery = z.output<typeof billsQuerySchema>

export const feedQuerySchema = z.strictObject(days)
export type FeedQuery = z.output<typeof feedQuerySchema>

export const changesQuerySchema = z.strictObject({
  since: seq
    .describe('publishedSeq of the answer before; without it only the newest number is returned')
    .optional(),
  ...paged,
})
export type ChangesQuery = z.output<typeof changesQuerySchema>

/** A parameter is a text without quotes, whatever it looks like. */
const queryRemedy: typeof remedy = (issue) =>
  issue.code === 'invalid_type' && issue.input === undefined
    ? 'missing: add this parameter'
    : remedy(issue)

/** A parsed query, or what is wrong with it, values left out. */
export type QueryReading<T> =
  | { readonly query: T; readonly detail?: never }
  | { readonly query?: never; readonly detail: string }

/** Reads a query string. Unknown and repeated parameters are refused: they are mistakes. */
export function readQuery<S extends z.ZodObject>(
  schema: S,
  text: string | undefined,
): QueryReading<z.output<S>> {
  const names = Object.keys(schema.shape)
  const parameters = [...new URLSearchParams(text ?? '')]
  const seen = new Set(parameters.map(([name]) => name))
  if (parameters.length !== seen.size) return { detail: 'give each parameter once' }
  if ([...seen].some((name) => !names.includes(name))) {
    const known = names.join(', ')
    return {
      detail:
        known === ''
          ? 'leave out all parameters: there are none'
          : `unknown parameter: use only ${known}`,
    }
  }
  const parsed = schema.safeParse(Object.fromEntries(parameters), { error: queryRemedy })
  if (parsed.success) return { query: parsed.data }
  return { detail: listProblems(parsed.error).replaceAll('\n', '; ') }
}

const instant = z.string().describe('ISO 8601')

const nextPage = z.string().nullable().describe('For the next page; null on the last one')

const dollars = z.number().nullable()

const pointCost = z
  .object({
    kind: z.string().describe('Energy, the kind of a charge, or Rounding'),
    component: z.string().describe('Of the energy price; empty for other charges'),
    name: z.string().describe('Of the rate window, tier or charge'),
    tier: z.int().describe('0 if none'),
    cost: z.number().describe('Dollars, up to 6 decimals'),
  })
  .meta({ id: 'PointCost' })

const point = z
  .object({
    start: instant.describe('ISO 8601, UTC'),
    end: instant.describe('ISO 8601, UTC, exclusive'),
    localStart: instant.describe("start by the utility's clock, with its offset from UTC"),
    quantity: z.number().nullable().describe('null if no read is there; up to 9 decimals'),
    unit: z.enum(['kWh', 'ccf', 'cm', 'therm']).nullable(),
    quality: z
      .enum(['asSent', 'corrected', 'substituted', 'estimated', 'partial', 'missing', 'projected'])
      .describe(
        'corrected: a later file changed a value; substituted, estimated: the sender says so of a value; partial: some reads are missing; projected: the rest of an open billing period, as its bill estimates it; reads since its start are in other points too, and not in the bill yet',
      ),
    reads: z.int().describe('Number of reads in it'),
    secondsMissing: z.int().describe('Time without a read in which one was expected'),
    cost: dollars.describe('Dollars; the costs of the points of a bill add up to its total'),
    costStatus: z
      .string()
      .describe(
        'computed; projected or incomplete: of such a bill; why the bill of a part has no cost: sparse, noUsage, noRate, noPrice, unit, notProjectable; noBill: a part is in no bill yet',
      ),
    costs: z.array(pointCost).describe('By rate window, tier and charge; they add up to cost'),
  })
  .meta({ id: 'UsagePoint' })

const changedSpan = z.object({ start: instant, end: instant }).meta({ id: 'ChangedSpan' })

/** `GET /gateway/usage`; later versions only add fields. */
export const usageSchema = z
  .object({
    meterId: identifierSchema,
    granularity: z.enum(granularities),
    timeZone: z.string().describe('IANA name, of localStart and of days'),
    publishedSeq: z.int().describe('Everything published up to this number is in the answer'),
    cursor: nextPage,
    changed: z
      .array(changedSpan)
      .optional()
      .describe('With since: replace everything in these spans by the points'),
    points: z.array(point),
  })
  .meta({ id: 'Usage' })

const localDay = z.string().describe('YYYY-MM-DD')

const bill = z
  .object({
    accountNumber: z.string(),
    externalSiteId: z.string(),
    meterId: identifierSchema,
    commodity: z.string().describe('Electric or Gas; empty if the rate is not known'),
    firstDay: localDay,
    lastDay: localDay,
    status: z.string().describe('computed, projected, incomplete, or why there is no bill'),
    reason: z.string().describe('The same as a sentence; empty if there is no problem'),
    quantity: z.number(),
    unit: z.string(),
    projected: dollars.describe('Dollars, while the period lasts'),
    computed: dollars.describe('Dollars, after the period'),
    billed: dollars.describe('Dollars that the utility charged; null if not known'),
    quantityBilled: z.number().nullable(),
    variance: dollars.describe('Computed minus billed'),
    varianceStatus: z.string().nullable().describe('match, differs or why it is not known'),
  })
  .meta({ id: 'ProjectedBill' })

/** `GET /gateway/bills`; later versions only add fields. */
export const billsSchema = z
  .object({ cursor: nextPage, bills: z.array(bill) })
  .meta({ id: 'Bills' })

const change = z
  .object({
    publishedSeq: z.int(),
    publishedAt: instant,
    meterId: identifierSchema,
    firstDay: localDay.describe('1970-01-01 includes all earlier days'),
    lastDay: localDay.describe('Included; 2106-02-07 includes all later days'),
    clientIdsBefore: z.array(z.string()).describe('Clients who had the reads; none at an erasure'),
    clientIds: z.array(z.string()).describe('Clients who have the reads since'),
    cause: z.enum(['read', 'ownership', 'cost', 'erasure']),
  })
  .meta({ id: 'Change' })

/** `GET /gateway/changes`; later versions only add fields. */
export const changesSchema = z
  .object({
    publishedSeq: z.int().describe('All changes up to this number are in this page and before'),
    cursor: nextPage,
    changes: z.array(change),
  })
  .meta({ id: 'Changes' })
