import { z } from 'zod'
import { strict } from '../../strict.js'

/** A column of the file: its name in the header line, or its position from 1. */
const column = z.union(
  [
    z.int().min(1).max(10_000),
    // An open question of `tieline propose`.
    z
      .string()
      .min(1)
      .max(200)
      .refine((name) => name !== '?'),
  ],
  'use the name of a column, or its position from 1',
)
/** Several columns are joined by hyphens. */
const identifier = z.union(
  [
    column,
    strict({ constant: z.string().min(1).max(64) }),
    z.array(column).min(2).max(5).readonly(),
  ],
  'use a column, a list of columns, or { constant: TEXT }',
)

const qualityTexts = z.array(z.string().min(1).max(100)).min(1).max(20).readonly().optional()

const columns = strict({
  meter: identifier,
  /** The meter where they are left out. */
  account: identifier.optional(),
  site: identifier.optional(),
  /** Date and time of day; of days and wide files the date. */
  time: column,
  /** The time of day, where it has a column of its own. */
  timeOfDay: column.optional(),
  /** The number of the interval in its day, in place of the time of day. */
  intervalNumber: column.optional(),
  quantity: column.optional(),
  /**
   * Energy to the grid, which is subtracted from the quantity. An empty field refuses the row, unless it is
   * said to mean 0.
   */
  received: strict({ column, emptyIsZero: z.boolean().default(false) }).optional(),
  /** One column for each interval of the day, the first of them, and how many there are. */
  values: strict({ from: column, count: z.int().min(1).max(1_440) }).optional(),
  /** The column that shows whether a quantity is generation, and its texts that say so. */
  generation: strict({
    column,
    is: z.array(z.string().max(100)).min(1).max(20).readonly(),
  }).optional(),
  /** The column of a read's quality, and its texts by what they say; those of `missing` are not loaded. */
  quality: strict({
    column,
    asSent: qualityTexts,
    estimated: qualityTexts,
    substituted: qualityTexts,
    missing: qualityTexts,
  }).optional(),
  /** Columns that say how a quantity is to be read, such as its unit: a row with another text is rejected. */
  expected: z
    .array(strict({ column, is: z.array(z.string().max(100)).min(1).max(20).readonly() }))
    .min(1)
    .max(10)
    .readonly()
    .optional(),
})

const seconds = z.int().refine((length) => length >= 60 && 3_600 % length === 0, {
  error: 'use seconds that divide an hour: 60 to 3600',
})

const clockRemedy = 'use wall, standard, or an offset from UTC such as +01:00'

const csvFields = strict({
  name: z.literal('csv'),
  encoding: z.enum(['utf-8', 'windows-1252', 'utf-16le', 'utf-16be']).default('utf-8'),
  delimiter: z.enum([',', ';', '|', 'tab']).default(','),
  decimal: z.enum(['.', ',']).default('.'),
  /** The sign between groups of three digits; without it, numbers that have one are rejected. */
  thousands: z.enum(['.', ',', "'", ' ']).optional(),
  /** Lines before the header line, or before the rows of a file without one. */
  skipLines: z.int().min(0).max(1_000).default(0),
  header: z.boolean().default(true),
  /** Lines whose first text begins with one of these, such as totals, are not rows. */
  leaveOut: z.array(z.string().trim().min(1).max(100)).min(1).max(20).readonly().optional(),
  columns,
  /** These are those of `usage` where they are left out. */
  dateOrder: z.enum(['MDY', 'DMY']).optional(),
  /** Digits of a year behind day and month; 2 reads `3/28/26` too. */
  yearDigits: z.union([z.literal(2), z.literal(4)]).default(4),
  stamp: z.enum(['start', 'end']).optional(),
  clock: z
    .union(
      [z.enum(['wall', 'standard']), z.string().regex(/^[+-](0\d|1[0-4]):[0-5]\d$/, clockRemedy)],
      clockRemedy,
    )
    .optional(),
  /** Length of every interval, seconds; without it, the rows show it. */
  interval: seconds.optional(),
  /** The number of the first interval of a day. */
  firstNumber: z.int().min(0).max(1).optional(),
  /**
   * What numbers of intervals, or the columns of a day, do when the clock changes: they count the intervals of
   * the day, or name those of the clock.
   */
  numbering: z.enum(['counted', 'clock']).optional(),
  unit: z.enum(['kWh', 'Wh', 'MWh', 'ccf', 'cm', 'therm']).optional(),
  /** Every quantity times this. */
  multiplier: z
    .number()
    .refine((factor) => /^\d+(\.\d+)?$/.test(String(factor)) && factor > 0, {
      error: 'use a decimal number above 0, such as 0.001',
    })
    .optional(),
})

export const csvFormat = csvFields.superRefine((settings, context) => {
  for (const [path, message] of problemsOf(settings)) {
    context.addIssue({ code: 'custom', path: [...path], message })
  }
})

type Unchecked = Pick<
  z.output<typeof csvFields>,
  | 'columns'
  | 'header'
  | 'decimal'
  | 'thousands'
  | 'interval'
  | 'clock'
  | 'firstNumber'
  | 'numbering'
>
type Problem = readonly [path: readonly string[], message: string]

/** Settings that contradict each other. */
function problemsOf(settings: Unchecked): readonly Problem[] {
  const { columns: mapped, header, interval } = settings
  const { quantity, values, generation, quality, received } = mapped
  const problems: Problem[] = [...problemsOfNumbers(settings), ...problemsOfQuality(quality)]
  if (settings.thousands === settings.decimal) {
    problems.push([['thousands'], 'use another sign than decimal'])
  }
  if ((quantity === undefined) === (values === undefined)) {
    problems.push([['columns'], 'name either quantity, or values for one column an interval'])
  }
  if (values !== undefined && (interval === undefined || values.count * interval < 86_400)) {
    const message = 'state the length of the intervals, so that values.count of them fill a day'
    problems.push([['interval'], message])
  }
  if (values !== undefined && (mapped.timeOfDay ?? mapped.intervalNumber) !== undefined) {
    const place = mapped.timeOfDay === undefined ? 'intervalNumber' : 'timeOfDay'
    problems.push([['columns', place], 'leave it out: the place of a value says its time of day'])
  }
  if (received !== undefined && (values !== undefined || generation !== undefined)) {
    const message =
      'leave it out: it is subtracted from one column of quantities without generation'
    problems.push([['columns', 'received'], message])
  }
  const named = Object.values({
    ...mapped,
    ...{ values: values?.from, generation: generation?.column },
    ...{ quality: quality?.column, received: received?.column },
    expected: mapped.expected?.map(({ column }) => column),
  })
  if (!header && named.flat().some((one) => typeof one === 'string')) {
    problems.push([['columns'], 'use positions: the file has no header line with names'])
  }
  return problems
}

function problemsOfNumbers(settings: Unchecked): readonly Problem[] {
  const { columns: mapped, interval, clock, firstNumber, numbering } = settings
  const problems: Problem[] = []
  const isNumbered = mapped.intervalNumber !== undefined
  if (!isNumbered && firstNumber !== undefined) {
    problems.push([['firstNumber'], 'leave it out: only columns.intervalNumber needs it'])
  }
  if (!isNumbered && mapped.values === undefined && numbering !== undefined) {
    const message = 'leave it out: only columns.intervalNumber and columns.values need it'
    problems.push([['numbering'], message])
  }
  if (isNumbered && interval === undefined) {
    problems.push([['interval'], 'state the length of the intervals that are numbered'])
  }
  if (isNumbered && mapped.timeOfDay !== undefined) {
    problems.push([['columns', 'intervalNumber'], 'leave it out: timeOfDay says the time of day'])
  }
  if (numbering !== undefined && (clock ?? 'wall') !== 'wall') {
    problems.push([
      ['numbering'],
      'leave it out: only with clock: wall does a day have 23 or 25 hours',
    ])
  }
  return problems
}

function problemsOfQuality(quality: Unchecked['columns']['quality']): readonly Problem[] {
  if (quality === undefined) return []
  const { asSent, estimated, substituted, missing } = quality
  const texts = [asSent, estimated, substituted, missing].flatMap((list) => list ?? [])
  const twice = texts.find((text, at) => texts.indexOf(text) !== at)
  const path = ['columns', 'quality']
  if (texts.length === 0) {
    return [[path, 'list the texts of asSent, estimated, substituted or missing']]
  }
  return twice === undefined ? [] : [[path, `${JSON.stringify(twice)} is listed twice`]]
}

export type CsvSettings = z.output<typeof csvFormat>
export type CsvColumn = z.output<typeof column>
export type CsvIdentifier = z.output<typeof identifier>
