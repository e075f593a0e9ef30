import { berlin, chicago, comma, europe, type Layout, layout, lines, spring } from './sending.js'

/** `28.03.26` of `28.03.2026`. */
const short = (date: string) => date.replace(/20(\d\d)$/, '$1')

/** The rows of a spreadsheet of an American utility. */
function american(
  system: string,
  meters: readonly string[],
  write: (date: string) => string = short,
): Layout {
  return layout({ system, zone: chicago }, ['Meter,Interval Start,kWh'], {
    ...{ meters, days: spring, minutes: 60 },
    row: ({ meter, start, quantity }, at) =>
      `${meter},${write(at(start).mdy)} ${at(start).hm},${quantity}`,
  })
}

/** Samples whose dates have years of two digits, as a spreadsheet writes them. */
export const shortYears: readonly Layout[] = [
  american('spreadsheet of an American utility', ['M1', 'M2']),
  american('short years beside identifiers like dates', ['12-01-26', '12-02-26']),
  american('short years beside serial numbers that begin with a year', [
    ...['20190001', '20190002', '20190615'],
  ]),
  american('short years, and long ones from the second day on', ['M1', 'M2'], (date) =>
    date.startsWith('03/07') ? short(date) : date,
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
