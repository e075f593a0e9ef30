import { type RecordRow, recordFeed } from '../record-feed.js'
import {
  dayOfYear,
  hour,
  identifier,
  inYearOrder,
  maybe,
  oneOf,
  price,
  words,
} from '../record-value.js'

/** Which days a row of a time-of-use rate is for. */
const dayTypes = ['Weekday', 'Weekend', 'Holiday', 'WeekendHoliday', 'All'] as const

/** Prices by season, kind of day and time of day; start inclusive, end exclusive. */
export const rateTou = recordFeed({
  name: 'RateTou',
  view: 'rate_tou',
  key: ['RateCode', 'Component', 'Name', 'DayType', 'StartHour', 'RateStartDate'],
  columns: {
    RateCode: identifier,
    Name: words,
    Amount: price,
    StartHour: hour,
    EndHour: hour,
    RateStartDate: dayOfYear,
    RateEndDate: maybe(dayOfYear, ''),
    DayType: maybe(oneOf(dayTypes), ''),
    Component: maybe(identifier, 'Energy'),
  },
  bracketed: ['DayType', 'Component'],
  rules: [inYearOrder('RateStartDate', 'RateEndDate')],
  fill: fillDayType,
  schedule: {
    set: 'rates',
    starts: 'RateStartDate',
    ends: 'RateEndDate',
    code: 'RateCode',
    everyYear: true,
  },
})

/** A name may carry the day type: `M-F`, `Wknd/Holiday`. */
const named: readonly (readonly [RegExp, (typeof dayTypes)[number]])[] = [
  [
    /\b(wknd|weekend)s?\b.*\b(hol|holiday)s?\b|\b(hol|holiday)s?\b.*\b(wknd|weekend)s?\b/i,
    'WeekendHoliday',
  ],
  [/\b(m-f|mon-fri|weekdays?|wkdys?)\b/i, 'Weekday'],
  [/\b(wknd|weekend)s?\b/i, 'Weekend'],
  [/\bholidays?\b/i, 'Holiday'],
]

function fillDayType(row: RecordRow): RecordRow {
  if (row['DayType'] !== '') return row
  const found = named.find(([pattern]) => pattern.test(row['Name'] ?? ''))
  return { ...row, DayType: found?.[1] ?? 'Weekday' }
}
