import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Setting } from './convert.js'
import { goldenFolder } from './samples.js'

const values = (count: number, from: number) =>
  Array.from({ length: count }, (_, at) => `${from + at}.25`)

export interface SentLayout extends Setting {
  /** Whether each line is a record, whose fields are the numbers of its rows; of XML that is not so. */
  readonly hasLines?: false
  readonly lines: readonly string[]
  readonly delimiter: string
  /** A row of its feed, whose fifth group is the quantity; that of a read without it. */
  readonly row?: RegExp
}

const billed =
  /^([^,]*),([^,]*),([^,]*),([^,]*),[^,]*,([^,]*),,[^,]*,,,,(asSent|estimated|substituted)$/

const narrow = { meter: 'Meter', time: 'Time', quantity: 'Value' }
const wide = { meter: 'Meter', time: 'Day', values: { from: 'H1', count: 25 } }
const hours = Array.from({ length: 25 }, (_, at) => `H${at + 1}`)

/** A file of each format, whose lines are damaged. */
export const layouts: Readonly<Record<string, SentLayout>> = {
  nem12: {
    format: { name: 'nem12' },
    delimiter: ',',
    lines: [
      '100,NEM12,202603020930,A,B',
      '200,NMI1,E1B1,E1,E1,N1,M1,kWh,30,',
      ['300,20260301', ...values(48, 100), 'A', ''].join(','),
      ['300,20260302', ...values(48, 200), 'V', ''].join(','),
      '400,1,20,A,,',
      '400,21,48,E52,,',
      '200,NMI1,E1B1,B1,B1,N1,M1,kWh,60,',
      ['300,20260301', ...values(24, 300), 'A', ''].join(','),
      '500,O,S,20260302,1',
      '200,NMI2,E1,E1,E1,N1,M2,kWh,60,',
      ['300,20260301', ...values(24, 400), 'A', ''].join(','),
      '900',
      '',
    ],
  },
  nem13: {
    format: { name: 'nem13' },
    feed: 'Billing',
    delimiter: ',',
    row: billed,
    lines: [
      '100,NEM13,202604021000,A,B',
      ...['11', '41', '71'].flatMap((register, at) => [
        `250,NMI1,114171,1,${register},${register},M1,E,1,2026010${at + 1}093055,A,,,2,20260401100333,A,,,10${at}.25,kWh,20260701,,`,
        '550,N,,E,',
      ]),
      '250,NMI2,11,1,11,11,M2,E,1,20260101000000,A,,,2,20260201000000,E64,,,200.75,kWh,20260701,,',
      '900',
      '',
    ],
  },
  'a read in each row': {
    format: { name: 'csv', delimiter: ';', decimal: ',', columns: narrow },
    delimiter: ';',
    lines: [
      'Meter;Time;Value',
      ...values(30, 100).map(
        (value, at) => `M${at % 3};2026-03-01 ${at % 24}:00;${value.replace('.', ',')}`,
      ),
      '',
    ],
  },
  'a numbered read in each row': {
    format: {
      ...{ name: 'csv', interval: 3_600, numbering: 'counted' },
      columns: { meter: 'Meter', time: 'Day', intervalNumber: 'Hour', quantity: 'Value' },
    },
    timeZone: 'America/Detroit',
    delimiter: ',',
    lines: [
      'Meter,Day,Hour,Value',
      ...values(25, 300).map((value, at) => `M1,01-Nov-2026,${at + 1},${value}`),
      ...values(24, 400).map((value, at) => `M2,Nov 2 2026,${at + 1},${value}`),
      '',
    ],
  },
  'a day in each row': {
    format: { name: 'csv', columns: wide, interval: 3_600 },
    timeZone: 'America/Detroit',
    delimiter: ',',
    lines: [
      `Meter,Day,${hours.join(',')}`,
      `M1,2026-03-08,${values(23, 100).join(',')},,`,
      `M1,2026-03-09,${values(24, 200).join(',')},`,
      `"M ""2""",2025-11-02,${values(25, 300).join(',')}`,
      '',
    ],
  },
  'green-button': {
    format: { name: 'green-button' },
    timeZone: 'America/Detroit',
    delimiter: '<',
    hasLines: false,
    lines: readFileSync(join(goldenFolder, 'green-button.xml'), 'utf8').split('\n'),
  },
  'green-button of months': {
    format: { name: 'green-button' },
    feed: 'Billing',
    timeZone: 'America/Detroit',
    delimiter: '<',
    row: billed,
    hasLines: false,
    lines: readFileSync(join(goldenFolder, 'green-button-months.xml'), 'utf8').split('\n'),
  },
}
