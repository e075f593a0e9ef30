import { createZone } from '../../../schemas/time/zone.js'
import {
  autumn,
  berlin,
  central,
  chicago,
  comma,
  copenhagen,
  europe,
  type Layout,
  layout,
  london,
  newYork,
  spring,
  two,
  utc,
  winter,
} from './sending.js'

/** Samples with a read in each row. */
export const narrow: readonly Layout[] = [
  layout(
    {
      system: 'retail market portal of Texas',
      zone: chicago,
      answers: { 'columns.generation': 'none' },
    },
    [
      'ESIID,USAGE_DATE,REVISION_DATE,USAGE_START_TIME,USAGE_END_TIME,USAGE_KWH,ESTIMATED_ACTUAL,CONSUMPTION_SURPLUSGENERATION',
    ],
    {
      meters: ['10443720001234567', '10443720001234568'],
      days: spring,
      minutes: 15,
      row: ({ meter, start, quantity }, at) =>
        `${meter},${at(start).mdy},${at(start).mdy} 06:05:00,${at(start).hm},${at(start + 900).hm},${quantity},A,Consumption`,
    },
  ),
  layout(
    {
      system: 'download of a Californian utility',
      zone: createZone('America/Los_Angeles'),
      answers: { 'columns.meter': '{ constant: HOME }' },
    },
    [
      'Name,A CUSTOMER',
      'Address,"1 STREET, TOWN"',
      'Account Number,1234567890',
      'Service,Service 1',
      '',
      'TYPE,DATE,START TIME,END TIME,USAGE,UNITS,COST,NOTES',
    ],
    {
      meters: ['HOME'],
      days: spring,
      minutes: 60,
      row: ({ start, quantity }, at) =>
        `Electric usage,${at(start).iso},${at(start).hm},${two(at(start).hour)}:59,${quantity},kWh,$0.30,`,
    },
  ),
  layout(
    {
      system: 'load profile of a German grid operator',
      zone: berlin,
      answers: { clock: 'standard' },
      encoding: 'latin1',
    },
    ['Zählpunkt;Datum;Uhrzeit von;Verbrauch kWh;Status'],
    {
      meters: ['DE0001234567890', 'DE0001234567891'],
      days: ['2026-03-28', '2026-03-29'],
      minutes: 15,
      shown: central,
      row: ({ meter, start, quantity }, at) =>
        `${meter};${at(start).dmy};${at(start).hm};${comma(quantity)};W`,
    },
  ),
  layout(
    {
      system: 'consumption API of a British supplier',
      zone: london,
      answers: { 'columns.meter': '{ constant: HOME }' },
    },
    ['Consumption (kwh), Start, End'],
    {
      meters: ['HOME'],
      days: europe,
      minutes: 30,
      row: ({ start, quantity }, at) => {
        const offset = (instant: number) =>
          at(instant).hour === utc.toWall(instant).hour ? '+00:00' : '+01:00'
        const text = (instant: number) =>
          `${at(instant).iso}T${at(instant).hm}:00${offset(instant)}`
        return `${quantity}, ${text(start)}, ${text(start + 1_800)}`
      },
    },
  ),
  layout(
    { system: 'London trial of smart meters', zone: london, answers: { stamp: 'start' } },
    ['LCLid,stdorToU,DateTime,KWH/hh (per half hour) '],
    {
      meters: ['MAC000002', 'MAC000003'],
      days: ['2013-03-28', '2013-04-03'],
      minutes: 30,
      shown: utc,
      row: ({ meter, start, quantity }, at) =>
        `${meter},Std,${at(start).iso} ${at(start).hm}:00.0000000,${quantity} `,
    },
  ),
  layout(
    { system: 'Danish hub', zone: copenhagen },
    ['MålepunktsID;Fra_dato;Til_dato;Mængde;Måleenhed;Kvalitet;Type'],
    {
      meters: ['571313174110000001'],
      days: europe,
      minutes: 60,
      row: ({ meter, start, quantity }, at) => {
        const text = (instant: number) =>
          `${at(instant).dmy.replaceAll('.', '-')} ${at(instant).hm}`
        return `${meter};${text(start)};${text(start + 3_600)};${comma(quantity)};KWH;Målt;Tidsserie`
      },
    },
  ),
  layout(
    {
      system: 'Spanish hub',
      zone: createZone('Europe/Madrid'),
      answers: { 'columns.received': '{ column: energiaVertida_kWh }', clock: 'wall' },
    },
    ['cups;fecha;hora;consumo_kWh;metodoObtencion;energiaVertida_kWh'],
    {
      meters: ['ES0021000000000001AB'],
      days: winter,
      minutes: 60,
      row: ({ meter, start, quantity }, at) =>
        `${meter};${at(start).iso.replaceAll('-', '/')};${two(at(start).hour + 1)}:00;${comma(quantity)};Real;0`,
    },
  ),
  layout(
    {
      system: 'head-end with a channel for each direction',
      zone: newYork,
    },
    ['Meter Id,Service Point Id,Interval Start,Flow Direction,Value,UOM,Quality'],
    {
      meters: ['5500001-Delivered', '5500002-Delivered'],
      days: spring,
      minutes: 15,
      row: ({ meter, start, quantity }, at) => {
        const [id] = meter.split('-')
        const row = (direction: string, value: string) =>
          `${id},SP${id},${at(start).iso} ${at(start).hm},${direction},${value},kWh,VAL`
        return `${row('Delivered', quantity)}\n${row('Received', '0.000')}`
      },
    },
  ),
  layout(
    {
      system: 'collector with columns separated by bars, without header',
      zone: newYork,
      answers: { clock: 'standard', stamp: 'start', unit: 'kWh', '/commodity': 'Electric' },
    },
    [],
    {
      meters: ['A100', 'A101'],
      days: winter,
      minutes: 15,
      row: ({ meter, start, quantity }, at) =>
        `${meter}|${at(start).compact}${at(start).hm.replace(':', '')}|${quantity}`,
    },
  ),
  layout(
    {
      system: 'export that begins with two months of equal numbers',
      zone: newYork,
      answers: { dateOrder: 'DMY', clock: 'wall', stamp: 'start' },
    },
    ['Meter,Time,kWh'],
    {
      meters: ['M1'],
      days: ['2026-02-01', '2026-02-03'],
      minutes: 60,
      row: ({ meter, start, quantity }, at) =>
        `${meter},${at(start).dmy.replaceAll('.', '/')} ${at(start).hm},${quantity}`,
    },
  ),
  layout(
    { system: 'Norwegian hub', zone: createZone('Europe/Oslo') },
    ['MeteringPoint;From;To;Consumption kWh'],
    {
      meters: ['707057500000000001', '707057500000000002'],
      days: europe,
      minutes: 60,
      shown: utc,
      row: ({ meter, start, quantity }, at) => {
        const text = (instant: number) => `${at(instant).iso}T${at(instant).hm}:00Z`
        return `${meter};${text(start)};${text(start + 3_600)};${comma(quantity)}`
      },
    },
  ),
  layout(
    {
      system: 'Swedish grid operator',
      zone: createZone('Europe/Stockholm'),
      answers: { clock: 'standard', stamp: 'start' },
    },
    ['Anläggning mätpunkt\tTid\tFörbrukning kWh'],
    {
      meters: ['735999000000000001'],
      days: ['2026-06-01', '2026-06-03'],
      minutes: 60,
      shown: createZone('Africa/Algiers'),
      row: ({ meter, start, quantity }, at) =>
        `${meter}\t${at(start).iso} ${at(start).hm}\t${comma(quantity)}`,
    },
  ),
  layout(
    { system: 'data management with times at the end', zone: chicago },
    ['MeterNumber|ChannelNumber|IntervalEndTime|ReadingKWh|Status'],
    {
      meters: ['G7000001', 'G7000002'],
      days: spring,
      minutes: 5,
      row: ({ meter, start, quantity }, at) =>
        `${meter}|1|${at(start + 300).iso} ${at(start + 300).hm}:00|${quantity}|0`,
    },
  ),
  layout(
    { system: 'billing system with AM and PM', zone: newYork, answers: { stamp: 'start' } },
    ['Account,Premise,Meter,Read Time,Usage (kWh)'],
    {
      meters: ['8800001', '8800002'],
      days: autumn,
      minutes: 30,
      row: ({ meter, start, quantity }, at) => {
        const { mdy, hour, minutes } = at(start)
        const half = hour < 12 ? 'AM' : 'PM'
        return `A${meter},P${meter},${meter},${mdy} ${hour % 12 || 12}:${two(minutes)}:00 ${half},${quantity}`
      },
    },
  ),
  layout(
    { system: 'collector with compact times', zone: chicago, answers: { stamp: 'start' } },
    ['device_id,ts,kwh'],
    {
      meters: ['0013500100AA0001', '0013500100AA0002'],
      days: autumn,
      minutes: 15,
      row: ({ meter, start, quantity }, at) =>
        `${meter},${at(start).compact}T${at(start).hm.replace(':', '')}00,${quantity}`,
    },
  ),
  layout(
    {
      system: 'table of a database, as a spreadsheet saves it',
      zone: newYork,
      answers: { stamp: 'start' },
      encoding: 'utf16le',
    },
    ['\uFEFFMeterID\tReadingTime\tConsumption kWh'],
    {
      meters: ['SQL1', 'SQL2'],
      days: spring,
      minutes: 60,
      row: ({ meter, start, quantity }, at) =>
        `${meter}\t${at(start).iso} ${at(start).hm}:00.000\t${quantity}`,
    },
  ),
  layout(
    { system: 'Finnish hub', zone: createZone('Europe/Helsinki') },
    [
      'MeteringPointGSRN;Product Type;Resolution;Unit Type;Reading Type;Start Time;Quantity;Quality',
    ],
    {
      meters: ['643001000000000001'],
      days: europe,
      minutes: 15,
      shown: utc,
      row: ({ meter, start, quantity }, at) =>
        `${meter};8716867000030;PT15M;kWh;BN01;${at(start).iso}T${at(start).hm}:00Z;${comma(quantity)};OK`,
    },
  ),
  layout(
    {
      system: 'gas meters of a German city',
      zone: berlin,
      answers: { clock: 'wall', stamp: 'start' },
    },
    ['Zählernummer;Zeitstempel;Gas Verbrauch [m³]'],
    {
      meters: ['7GMT0001', '7GMT0002'],
      days: winter,
      minutes: 60,
      row: ({ meter, start, quantity }, at) =>
        `${meter};${at(start).dmy} ${at(start).hm};${comma(quantity)}`,
    },
  ),
]
