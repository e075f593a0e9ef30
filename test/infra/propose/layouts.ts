import { directions } from './directions.js'
import { narrow } from './narrow.js'
import { numbered } from './numbered.js'
import { clockAt, type Layout, lines, newYork, quantityAt, two } from './sending.js'
import { shortYears, yearFirst } from './short-years.js'
import { wide } from './wide.js'

const gasDays = Array.from({ length: 40 }, (_, at) => newYork.dayStart('2026-01-01') + at * 86_400)

const daily: Layout = {
  system: 'gas utility, a day in a row',
  timeZone: 'America/New_York',
  file: lines(
    'Gas Meter,Account Number,Read Date,Usage (CCF)',
    ...gasDays.map((start, at) => `G1,A1,${clockAt(newYork, start).mdy},${quantityAt(at)}`),
  ),
  reads: gasDays.map((start, at) => ({ meter: 'G1', start, quantity: quantityAt(at) })),
}

/** Samples of systems, one of each. */
export const layouts: readonly Layout[] = [
  ...[...narrow, ...numbered, ...directions, ...wide, ...shortYears],
  daily,
]

/** Samples that cannot be loaded as they are, and what must be asked or said. */
export const unloadable: readonly (Pick<Layout, 'system' | 'file'> & { readonly says: RegExp })[] =
  [
    {
      system: 'readings of a register',
      file: lines(
        'meter,timestamp,reading kWh',
        ...Array.from(
          { length: 48 },
          (_, at) =>
            `M1,2026-01-${two(13 + Math.floor(at / 24))} ${two(at % 24)}:00,${1_000 + at * 1.5}`,
        ),
      ),
      says: /isRegister/,
    },
    {
      system: 'active and reactive energy in one file',
      file: lines(
        'Device,Interval Ending,Usage,Units',
        ...Array.from({ length: 48 }, (_, at) =>
          ['KWH', 'KVARH']
            .map(
              (unit) =>
                `D1,01/${two(13 + Math.floor(at / 24))}/2026 ${two(at % 24)}:00,${quantityAt(at + unit.length)},${unit}`,
            )
            .join('\n'),
        ),
      ),
      says: /differ in "Units"/,
    },
    {
      system: 'import and export side by side',
      file: lines(
        'Meter,Date,Time,Import kWh,Export kWh',
        ...Array.from(
          { length: 24 },
          (_, at) => `M1,2026-01-13,${two(at)}:00,${quantityAt(at)},0.000`,
        ),
      ),
      says: /columns\.received: is it the energy to the grid .* Answer \{column: "Export kWh"\}/,
    },
    {
      system: 'average power of a French portal',
      file: lines(
        'Identifiant PRM;Type;Unite',
        '12345678901234;Courbe de charge;W',
        'Horodate;Puissance W',
        ...Array.from(
          { length: 48 },
          (_, at) =>
            `2026-01-13T${two(Math.floor(at / 2))}:${at % 2 ? '30' : '00'}:00+01:00;${100 + ((at * 37) % 50)}`,
        ),
      ),
      says: /W is an average power/,
    },
    ...yearFirst.map((file, at) => ({
      system: `dates whose year may come first, ${at + 1}`,
      file,
      says: /yearDigits: is the year of \d\d\/\d\d\/24 its last number\?/,
    })),
    {
      system: 'the plain layout with years of two digits',
      file: lines(
        'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit',
        'A,S,M,3/28/26 0:00,1.5',
      ),
      says: /the plain layout has years of four digits/,
    },
    {
      system: 'Irish trial, columns separated by blanks',
      file: lines(
        ...Array.from({ length: 48 }, (_, at) => `1392 195${two(at + 1)} ${quantityAt(at)}`),
      ),
      says: /no columns separated/,
    },
  ]
