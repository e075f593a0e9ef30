import { join } from 'node:path'
import { packageRoot } from '../../../infra/package-root.js'
import type { Setting } from './convert.js'

export const goldenFolder = join(packageRoot(import.meta.url), 'test/golden/formats')

/** One sample of each format, and how a profile describes it. */
export const samples: Readonly<Record<string, Setting>> = {
  'csv-narrow.csv': {
    timeZone: 'Europe/Berlin',
    format: {
      name: 'csv',
      encoding: 'windows-1252',
      delimiter: ';',
      decimal: ',',
      skipLines: 1,
      columns: {
        account: { constant: 'GRID' },
        site: 'zählpunkt',
        meter: ['Zählpunkt', 'Gerät'],
        time: 'Datum',
        timeOfDay: 4,
        quantity: 'Verbrauch',
        generation: { column: 'Richtung', is: ['Lieferung'] },
      },
      dateOrder: 'DMY',
      clock: '+01:00',
      unit: 'Wh',
    },
  },
  'csv-wide.csv': {
    timeZone: 'America/Detroit',
    format: {
      name: 'csv',
      columns: { meter: 'meter', time: 'day', values: { from: 'h1', count: 25 } },
      interval: 3_600,
    },
  },
  'csv-numbered.csv': {
    timeZone: 'Europe/Madrid',
    format: {
      ...{ name: 'csv', delimiter: '|', skipLines: 1, interval: 3_600, numbering: 'counted' },
      columns: {
        ...{ meter: 'Point', time: 'Date', intervalNumber: 'Hour', quantity: 'Delivered Wh' },
        received: { column: 'Received Wh', emptyIsZero: true },
      },
      unit: 'Wh',
    },
  },
  'green-button.xml': { timeZone: 'America/Detroit', format: { name: 'green-button' } },
  'nem12.csv': { format: { name: 'nem12' } },
  'nem13.csv': { format: { name: 'nem13' }, feed: 'Billing' },
  'green-button-months.xml': {
    timeZone: 'America/Detroit',
    format: { name: 'green-button' },
    feed: 'Billing',
  },
}
