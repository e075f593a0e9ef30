import { berlin, chicago, comma, europe, type Layout, layout, lines, spring } from './sending.js'

/** `28.03.26` of `28.03.2026`. */
const short = (date: string) => date.replace(/20(\d\d)$/, '$1')

/** Samples whose dates have years of two digits, as a spreadsheet writes them. */
export const shortYears: readonly Layout[] = [
  layout(
    { system: 'spreadsheet of an American utility', zone: chicago },
    ['Meter,Interval Start,kWh'],
    {
      meters: ['M1', 'M2'],
      days: spring,
      minutes: 60,
      row: ({ meter, start, quantity }, at) =>
        `${meter},${short(at(start).mdy)} ${at(start).hm},${quantity}`,
    },
  ),
  layout(
    { system: 'short years beside identifiers like dates', zone: chicago },
    ['Meter,Interval Start,kWh'],
    {
      meters: ['12-01-26', '12-02-26'],
      days: spring,
      minutes: 60,
      row: ({ meter, start, quantity }, at) =>
        `${meter},${short(at(start).mdy)} ${at(start).hm},${quantity}`,
    },
  ),
  layout(
    { system: 'short years beside serial numbers that begin with a year', zone: chicago },
    ['Meter,Interval Start,kWh'],
    {
      meters: ['20190001', '20190002', '20190615'],
      days: spring,
      minutes: 60,
      row: ({ meter, start, quantity }, at) =>
        `${meter},${short(at(start).mdy)} ${at(start).hm},${quantity}`,
    },
  ),
  layout(
    { system: 'short years, and long ones from the second day on', zone: chicago },
    ['Meter,Interval Start,kWh'],
    {
      meters: ['M1', 'M2'],
      days: spring,
      minutes: 60,
      row: ({ meter, start, quantity }, at) => {
        const date = at(start).mdy
        return `${meter},${date.startsWith('03/07') ? short(date) : date} ${at(start).hm},${quantity}`
      },
    },
  ),
  layout(
    { system: 'spreadsheet of a German utility', zone: berlin, answers: { stamp: 'start' } },
    ['Meter;Datum;Zeit;Verbrauch kWh'],
    {
      meters: ['DE001', 'DE002'],
      days: europe,
      minutes: 15,
      row: ({ meter, start, quantity }, at) =>
        `${meter};${short(at(start).dmy)};${at(start).hm};${comma(quantity)}`,
    },
  ),
]

/** Samples whose dates may begin with the year, the second of them of long ago. */
export const yearFirst = ['26/01', '13/06'].map((month) =>
  lines('Meter,Day,kWh', ...Array.from({ length: 3 }, (_, at) => `M1,${month}/2${at + 4},1.${at}`)),
)
