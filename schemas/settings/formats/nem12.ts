import { z } from 'zod'
import { strict } from '../../strict.js'

const marks = ['{nmi}', '{register}', '{serial}'] as const

/** How an identifier is made of the fields of a record. */
const nemTemplate = z
  .string()
  .max(100)
  .refine((text) => marks.some((mark) => text.includes(mark)), {
    error: `use one of ${marks.join(', ')}`,
  })
  .refine((text) => !/[{}]/.test(text.replaceAll(/\{(nmi|register|serial)\}/g, '')), {
    error: `the marks are ${marks.join(', ')}`,
  })

/** An offset from UTC; that of the market is the same all year. */
const marketOffset = z
  .string()
  .regex(/^[+-](0\d|1[0-4]):[0-5]\d$/, 'use an offset from UTC such as +10:00')
  .default('+10:00')

/** A suffix: E1 of intervals, 11 of consumption. */
const register = z.string().regex(/^[0-9A-Z]{2}$/, 'use a suffix such as E1')

/** What the formats of the market have in common. */
export const nemFields = {
  offset: marketOffset,
  account: nemTemplate.default('{nmi}'),
  site: nemTemplate.default('{nmi}'),
  meter: nemTemplate.default('{nmi}-{register}'),
  /** Suffixes that are loaded; without them, all that measure energy. */
  registers: z.array(register).min(1).max(100).readonly().optional(),
  /** The sign of what a customer generates. */
  generation: z.enum(['negative', 'positive']).default('negative'),
}

interface Registers {
  readonly meter: string
  readonly registers?: readonly string[] | undefined
}

/** Refuses settings by which several registers would be one meter. */
export function seriesAreApart<S extends z.ZodType<Registers>>(settings: S): S {
  return settings.refine(
    ({ meter, registers }) => meter.includes('{register}') || registers?.length === 1,
    {
      error: 'registers of one NMI would be one meter: use {register} in it, or name one register',
      path: ['meter'],
    },
  )
}

export const nem12Settings = seriesAreApart(strict({ name: z.literal('nem12'), ...nemFields }))

export type Nem12Settings = z.output<typeof nem12Settings>
