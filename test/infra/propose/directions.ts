import { createZone } from '../../../schemas/time/zone.js'
import { berlin, comma, europe, type Layout, layout, newYork, spring } from './sending.js'

/** A row of each direction for one read, the second with 0 only. */
const both = (rows: readonly [consumed: string, generated: string]) => rows.join('\n')

/** A file of generation only. */
const production = layout(
  {
    system: 'production of a French meter',
    zone: createZone('Europe/Paris'),
    answers: { stamp: 'end' },
  },
  ['Identifiant_PRM;Grandeur_metier;Unite;Horodate;Valeur kWh;Nature'],
  {
    meters: ['09100000000001'],
    days: europe,
    minutes: 30,
    row: ({ meter, start, quantity }, at) =>
      `${meter};PROD;kWh;${at(start + 1_800).iso} ${at(start + 1_800).hm}:00;${quantity};R`,
  },
)
const generation: Layout = {
  ...production,
  reads: production.reads.map((read) => ({ ...read, quantity: `-${read.quantity}` })),
}

/** Samples with rows of energy in both directions. */
export const directions: readonly Layout[] = [
  layout(
    { system: 'Belgian grid operator', zone: createZone('Europe/Brussels'), answers: {} },
    [
      'Van (datum);Van (tijdstip);Tot (datum);Tot (tijdstip);EAN-code;Meter;Register;Volume;Eenheid;Validatiestatus',
    ],
    {
      meters: ['541448820000000001-Afname Dag', '541448820000000002-Afname Dag'],
      days: europe,
      minutes: 15,
      row: ({ meter, start, quantity }, at) => {
        const [ean = ''] = meter.split('-')
        const [from, to] = [at(start), at(start + 900)].map(
          ({ dmy, hm }) => `${dmy.replaceAll('.', '-')};${hm}:00`,
        )
        const row = (register: string, value: string) =>
          `${from};${to};="${ean}";1SAG${ean.slice(-1)};${register};${comma(value)};kWh;Gemeten`
        return both([row('Afname Dag', quantity), row('Injectie Dag', '0.000')])
      },
    },
  ),
  layout(
    {
      system: 'German market messages as a table, with OBIS codes',
      zone: berlin,
      answers: {
        'columns.quality': '{ column: Status, asSent: [W], substituted: [E] }',
      },
    },
    ['Messlokation;OBIS-Kennzahl;Von;Bis;Wert;Einheit;Status'],
    {
      meters: ['DE00056266802AO6G56M11SN51G21M24S-1-1:1.29.0'],
      days: europe,
      minutes: 15,
      row: ({ meter, start, quantity }, at) => {
        const [point = '', ...code] = meter.split('-')
        const time = (instant: number) => `${at(instant).dmy} ${at(instant).hm}`
        const status = at(start).hour === 5 ? 'E' : 'W'
        const row = (obis: string, value: string) =>
          `${point};${obis};${time(start)};${time(start + 900)};${comma(value)};kWh;${status}`
        return both([row(code.join('-'), quantity), row('1-1:2.29.0', '0.000')])
      },
    },
  ),
  layout(
    {
      system: 'measurements of a utility suite, channels by number',
      zone: newYork,
      answers: {
        'columns.meter': '[DEVICE_ID, CHANNEL]',
        'columns.quantity': 'MSRMT_VAL',
        '/commodity': 'Electric',
        'columns.generation': '{ column: CHANNEL, is: ["2"] }',
        'columns.quality': 'none',
      },
    },
    ['DEVICE_ID,CHANNEL,START_DTTM,END_DTTM,MSRMT_VAL,UOM_CD,MSRMT_COND_CD'],
    {
      meters: ['445566778899-1'],
      days: spring,
      minutes: 15,
      row: ({ meter, start, quantity }, at) => {
        const [device] = meter.split('-')
        const time = (instant: number) => {
          const { iso, hm } = at(instant)
          return `${iso}-${hm.replace(':', '.')}.00`
        }
        const row = (channel: string, value: string) =>
          `${device},${channel},${time(start)},${time(start + 900)},${value},KWH,${at(start).hour % 4 === 0 ? 401_000 : 501_000}`
        return both([row('1', quantity), row('2', '0.000')])
      },
    },
  ),
  generation,
]
