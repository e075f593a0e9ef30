import { readQualities } from '../../../schemas/quantity.js'
import { csvFormat } from '../../../schemas/settings/formats/csv.js'
import type { Conversion, FormatContext } from '../format.js'
import { createCsv } from './csv.js'

const settings = csvFormat.parse({
  name: 'csv',
  columns: {
    ...{ account: 1, site: 2, meter: 3, time: 4, quantity: 5 },
    quality: { column: 6, ...Object.fromEntries(readQualities.map((name) => [name, [name]])) },
  },
})

/** Files of the plain layout with a quality behind its columns. */
export function createPlainWithQuality(context: FormatContext): Conversion {
  return createCsv(settings, context)
}
