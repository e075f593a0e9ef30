import { z } from 'zod'
import { strict } from '../../strict.js'
import { greenButtonSettings } from './green-button.js'
import { nem13Settings } from './nem13.js'

/** The format of the files of the feed Billing, by `name`, with what it needs to be read. */
export const billingFormat = z
  .discriminatedUnion('name', [
    strict({ name: z.literal('tieline') }),
    nem13Settings,
    greenButtonSettings,
  ])
  .prefault({ name: 'tieline' })

export type BillingFormat = z.output<typeof billingFormat>
