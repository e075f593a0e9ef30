import { createZone, toDay, type Zone } from '../../../schemas/time/zone.js'
import {
  autumn,
  berlin,
  chicago,
  eastern,
  europe,
  type Layout,
  layout,
  london,
  newYork,
  spring,
  winter,
} from './sending.js'

/** The number of an interval that counts those of its local day. */
const counted = (zone: Zone, start: number, minutes: number) =>
  (start - zone.dayStart(toDay(zone.toWall(start)))) / (minutes * 60) + 1

const months = 'JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC'.split(' ')
/** `2026-03-08` as `08-MAR-26` and as `Mar 8, 2026`. */
const named = (iso: string) => {
  const [year = '', month, day = ''] = iso.split('-')
  const name = months[Number(month) - 1] as string
  const title = name.charAt(0) + name.slice(1).toLowerCase()
  return { oracle: `${day}-${name}-${year.slice(2)}`, title: `${title} ${Number(day)}, ${year}` }
}

const auckland = createZone('Pacific/Auckland')
const toronto = createZone('America/Toronto')

/** Samples with numbers of intervals, names of months, or energy of both directions in a row. */
export const numbered: readonly Layout[] = [
  layout(
    { system: 'settlement periods of a British half-hourly flow', zone: london },
    ['MPAN,Settlement Date,Settlement Period,Consumption kWh,Actual/Estimated Indicator'],
    {
      meters: ['1012345678901', '1012345678902'],
      days: europe,
      minutes: 30,
      row: ({ meter, start, quantity }, at) =>
        `${meter},${at(start).compact},${counted(london, start, 30)},${quantity},A`,
    },
  ),
  layout(
    {
      system: 'trading periods of New Zealand, without header',
      zone: auckland,
      answers: {
        'columns.meter': '2',
        'columns.account': 'none',
        clock: 'wall',
        numbering: 'counted',
        'columns.quantity': '6',
      },
    },
    ['HDR,ICPHH,1.0,RETA'],
    {
      meters: ['0000000001AA111', '0000000002AA112'],
      days: winter,
      minutes: 30,
      row: ({ meter, start, quantity }, at) =>
        `DET,${meter},M1,${at(start).dmy.replaceAll('.', '/')},${counted(auckland, start, 30)},${quantity},KWH`,
    },
  ),
  layout(
    {
      system: 'hours of Ontario, standard time all year',
      zone: toronto,
      answers: { clock: 'standard' },
    },
    ['Meter Number,Date,Hour Ending,kWh'],
    {
      meters: ['ON1', 'ON2'],
      // The days of standard time begin an hour later than those of the clock.
      days: winter,
      minutes: 60,
      shown: eastern,
      row: ({ meter, start, quantity }, at) =>
        `${meter},${at(start).iso},${at(start).hour + 1},${quantity}`,
    },
  ),
  layout(
    { system: 'hours ending by the clock, with the names of months', zone: newYork },
    ['Account Number|Meter ID|Read Date|HE|Usage (kWh)|Read Quality'],
    {
      meters: ['770001', '770002'],
      days: autumn,
      minutes: 60,
      row: ({ meter, start, quantity }, at) =>
        `A${meter}|${meter}|${named(at(start).iso).title}|HE${at(start).hour + 1}|${quantity}|${at(start).hour < 3 ? 'Estimated' : 'Actual'}`,
    },
  ),
  layout(
    {
      system: 'hours from 0 of a cooperative',
      zone: chicago,
      answers: { firstNumber: '0', unit: 'kWh', '/commodity': 'Electric' },
    },
    ['meter;date;hour;value'],
    {
      meters: ['C1', 'C2'],
      days: spring,
      minutes: 60,
      row: ({ meter, start, quantity }, at) =>
        `${meter};${at(start).iso} 00:00:00;${at(start).hour};${quantity}`,
    },
  ),
  layout(
    {
      system: 'timestamps of an Oracle database',
      zone: newYork,
      answers: { stamp: 'start', 'columns.quality': 'none' },
    },
    ['METER_ID,READ_TIME,KWH,STATUS_CODE'],
    {
      meters: ['X1', 'X2'],
      days: spring,
      minutes: 15,
      row: ({ meter, start, quantity }, at) => {
        const { iso, hour, minutes } = at(start)
        const clock = [hour % 12 || 12, minutes, 0].map((one) => String(one).padStart(2, '0'))
        const time = `${named(iso).oracle} ${clock.join('.')}.000000 ${hour < 12 ? 'AM' : 'PM'}`
        return `${meter},${time},${quantity},${hour % 3 === 0 ? 7 : 1}`
      },
    },
  ),
  layout(
    {
      system: 'delivered and received energy in one row',
      zone: berlin,
      answers: {
        'columns.received': '{ column: Received kWh }',
        stamp: 'start',
      },
    },
    ['Meter;Date;Time;Delivered kWh;Received kWh'],
    {
      meters: ['S1', 'S2'],
      days: europe,
      minutes: 15,
      row: ({ meter, start, quantity }, at) => {
        const received = at(start).hour === 12 ? 0.75 : 0
        const delivered = (Number(quantity) + received).toFixed(3)
        return `${meter};${at(start).dmy};${at(start).hm};${delivered};${received.toFixed(3)}`
      },
    },
  ),
]
