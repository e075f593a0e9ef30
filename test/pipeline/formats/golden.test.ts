import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import { convertedFormats } from '../../../pipeline/formats/formats.js'
import { convert, type Setting } from './convert.js'

const folder = join(packageRoot(import.meta.url), 'test/golden/formats')

/** One sample of each format, and how a profile describes it. */
const samples: Readonly<Record<string, Setting>> = {
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
  'nem12.csv': { format: { name: 'nem12' } },
}

t.test('each format has a sample, whose plain rows and notes are known', async (t) => {
  const sampled = Object.values(samples).map(({ format }) => (format as { name: string }).name)
  t.same(new Set(sampled), new Set(convertedFormats))
  for (const [file, setting] of Object.entries(samples)) {
    const bytes = readFileSync(join(folder, file))
    const { plain, records, ending } = await convert(bytes, setting)
    const lines = records.map(({ line, refused }) => refused && `${line}: ${refused.detail}`)
    const shown = [...ending.warnings, ...lines.filter((text) => text !== undefined)]
    const found = `${plain}${shown.map((text) => `# ${text}\n`).join('')}`
    const path = join(folder, `${file}.plain`)
    if (process.env['TIELINE_WRITE_GOLDEN'] === '1') writeFileSync(path, found)
    t.equal(found, readFileSync(path, 'utf8'), file)
    for (const size of [1, 7, 1_000]) {
      t.equal((await convert(bytes, setting, size)).plain, plain, `${file} in pieces of ${size}`)
    }
  }
})
