import { z } from 'zod'
import { strict } from '../../strict.js'

const marks = ['{usagePoint}', '{meterReading}', '{flow}'] as const

/** How an identifier is made of the address of a series and the direction of its energy. */
const espiTemplate = z
  .string()
  .max(100)
  .refine((text) => marks.some((mark) => text.includes(mark)), {
    error: `use one of ${marks.join(', ')}`,
  })
  .refine((text) => !/[{}]/.test(text.replaceAll(/\{(usagePoint|meterReading|flow)\}/g, '')), {
    error: `the marks are ${marks.join(', ')}`,
  })

export const greenButtonSettings = strict({
  name: z.literal('green-button'),
  account: espiTemplate.default('{usagePoint}'),
  site: espiTemplate.default('{usagePoint}'),
  meter: espiTemplate.default('{usagePoint}-{flow}'),
  /** The sign of series whose flow is reverse. */
  generation: z.enum(['negative', 'positive']).default('negative'),
  /** The local time at which reads of a day start; days that start at another show that the zone is wrong. */
  dayStart: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'use a time of day such as "09:00"')
    .default('00:00'),
})

export type GreenButtonSettings = z.output<typeof greenButtonSettings>
