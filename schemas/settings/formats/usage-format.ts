import { z } from 'zod'
import { strict } from '../../strict.js'
import { csvFormat } from './csv.js'
import { greenButtonSettings } from './green-button.js'
import { nem12Settings } from './nem12.js'

/** The format of the files of a usage feed, by `name`, with what it needs to be read. */
export const usageFormat = z
  .discriminatedUnion('name', [
    strict({ name: z.literal('tieline') }),
    csvFormat,
    nem12Settings,
    greenButtonSettings,
  ])
  .prefault({ name: 'tieline' })

export type UsageFormat = z.output<typeof usageFormat>
