import { z } from 'zod'
import { strict } from '../../strict.js'
import { nemFields, seriesAreApart } from './nem12.js'

/** Consumption between two reads of a register; its registers are the suffixes of its records. */
export const nem13Settings = seriesAreApart(strict({ name: z.literal('nem13'), ...nemFields }))

export type Nem13Settings = z.output<typeof nem13Settings>
