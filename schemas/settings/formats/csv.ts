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
  quantity: column.optional(),
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
})

const seconds = z.int().refine((length) => length >= 60 && 3_600 % length === 0, {
  error: 'use seconds that divide an hour: 60 to 3600',
})

const clockRemedy = 'use wall, standard, or an offset from UTC such as +01:00'

export const csvFormat = strict({
  name: z.literal('csv'),
  encoding: z.enum(['utf-8', 'windows-1252', 'utf-16le', 'utf-16be']).default('utf-8'),
  delimiter: z.enum([',', ';', '|', 'tab']).default(','),
  decimal: z.enum(['.', ',']).default('.'),
  /** Lines before the header line, or before the rows of a file without one. */
  skipLines: z.int().min(0).max(1_000).default(0),
  header: z.boolean().default(true),
  columns,
  /** These are those of `usage` where they are left out. */
  dateOrder: z.enum(['MDY', 'DMY']).optional(),
  stamp: z.enum(['start', 'end']).optional(),
  clock: z
    .union(
      [z.enum(['wall', 'standard']), z.string().regex(/^[+-](0\d|1[0-4]):[0-5]\d$/, clockRemedy)],
      clockRemedy,
    )
    .optional(),
  /** Length of every interval, seconds; without it, the rows show it. */
  interval: seconds.optional(),
  unit: z.enum(['kWh', 'Wh', 'MWh', 'ccf', 'cm', 'therm']).optional(),
  /** Every quantity times this. */
  multiplier: z
    .number()
    .refine((factor) => /^\d+(\.\d+)?$/.test(String(factor)) && factor > 0, {
      error: 'use a decimal number above 0, such as 0.001',
    })
    .optional(),
}).superRefine(({ columns: mapped, header, interval }, context) => {
  const refuse = (path: readonly string[], message: string) => {
    context.addIssue({ code: 'custom', path: [...path], message })
  }
  const { quantity, values, generation, quality } = mapped
  if ((quantity === undefined) === (values === undefined)) {
    refuse(['columns'], 'name either quantity, or values for one column an interval')
  }
  if (values !== undefined && (interval === undefined || values.count * interval < 86_400)) {
    refuse(
      ['interval'],
      'state the length of the intervals, so that values.count of them fill a day',
    )
  }
  if (values !== undefined && mapped.timeOfDay !== undefined) {
    refuse(['columns', 'timeOfDay'], 'leave it out: the place of a value says its time of day')
  }
  const texts = [
    quality?.asSent,
    quality?.estimated,
    quality?.substituted,
    quality?.missing,
  ].flatMap((list) => list ?? [])
  const twice = texts.find((text, at) => texts.indexOf(text) !== at)
  if (twice !== undefined) {
    refuse(['columns', 'quality'], `${JSON.stringify(twice)} is listed twice`)
  }
  if (quality !== undefined && texts.length === 0) {
    refuse(['columns', 'quality'], 'list the texts of asSent, estimated, substituted or missing')
  }
  const named = Object.values({
    ...mapped,
    ...{ values: values?.from, generation: generation?.column, quality: quality?.column },
  })
  if (!header && named.flat().some((one) => typeof one === 'string')) {
    refuse(['columns'], 'use positions: the file has no header line with names')
  }
})

export type CsvSettings = z.output<typeof csvFormat>
export type CsvColumn = z.output<typeof column>
export type CsvIdentifier = z.output<typeof identifier>
