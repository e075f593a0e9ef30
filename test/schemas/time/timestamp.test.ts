import fc from 'fast-check'
import { test } from 'tap'
import {
  type DateOrder,
  detectFormat,
  isCalendarDay,
  isDayFormat,
  parseTimestamp,
  type TimestampFormat,
  timestampFormats,
} from '../../../schemas/time/timestamp.js'
import { fromWallSeconds, toDay, type Wall, wallSeconds } from '../../../schemas/time/zone.js'
import { sampled } from '../sampled.js'

const names = Object.keys(timestampFormats) as TimestampFormat[]
const two = (value: number): string => String(value).padStart(2, '0')

/** Reads what detectFormat finds; undefined where nothing is found or the value is impossible. */
function read(text: string, dateOrder: DateOrder = 'MDY') {
  const format = detectFormat(text)
  const stamp = format && parseTimestamp(text, format, dateOrder)
  if (stamp === undefined) return undefined
  const wall = new Date(wallSeconds(stamp.wall) * 1_000).toISOString().slice(0, 19)
  return [format, wall, ...(stamp.offsetSeconds === undefined ? [] : [stamp.offsetSeconds])]
}

const write: Record<TimestampFormat, (wall: Wall, slash: string) => string> = {
  slashDate: (_, slash) => slash,
  slashMinutes: ({ hour, minute }, slash) => `${slash} ${hour}:${two(minute)}`,
  slashSeconds: ({ hour, minute, second }, slash) =>
    `${slash} ${hour}:${two(minute)}:${two(second)}`,
  slashTwelveHour: ({ hour, minute }, slash) =>
    `${slash} ${hour % 12 || 12}:${two(minute)} ${hour < 12 ? 'AM' : 'PM'}`,
  isoDate: (wall) => toDay(wall),
  isoMinutes: (wall) => `${toDay(wall)}T${two(wall.hour)}:${two(wall.minute)}`,
  isoSeconds: (wall) => `${toDay(wall)} ${two(wall.hour)}:${two(wall.minute)}:${two(wall.second)}`,
  isoOffset: (wall) => `${toDay(wall)}T${two(wall.hour)}:${two(wall.minute)}-05:00`,
}

test('every documented way to write a time stamp is read', async (t) => {
  const rows: [string, unknown[]][] = [
    ['1/4/2017', ['slashDate', '2017-01-04T00:00:00']],
    ['01/04/2017', ['slashDate', '2017-01-04T00:00:00']],
    ['1/4/2017 0:15', ['slashMinutes', '2017-01-04T00:15:00']],
    ['1/4/2017 13:45:00', ['slashSeconds', '2017-01-04T13:45:00']],
    ['1/4/2017 1:45 PM', ['slashTwelveHour', '2017-01-04T13:45:00']],
    ['1/4/2017 1:45:30 pm', ['slashTwelveHour', '2017-01-04T13:45:30']],
    ['1/4/2017 12:00 AM', ['slashTwelveHour', '2017-01-04T00:00:00']],
    ['1/4/2017 12:59 PM', ['slashTwelveHour', '2017-01-04T12:59:00']],
    ['2017-01-04', ['isoDate', '2017-01-04T00:00:00']],
    ['2017-01-04T00:15', ['isoMinutes', '2017-01-04T00:15:00']],
    ['2017-01-04 00:15', ['isoMinutes', '2017-01-04T00:15:00']],
    ['2017-01-04 00:15:59', ['isoSeconds', '2017-01-04T00:15:59']],
    ['2017-01-04T00:15Z', ['isoOffset', '2017-01-04T00:15:00', 0]],
    ['2017-01-04T00:15:00-05:00', ['isoOffset', '2017-01-04T00:15:00', -18_000]],
    ['2017-01-04 00:15+0330', ['isoOffset', '2017-01-04T00:15:00', 12_600]],
    ['2017-01-04T00:15-00:00', ['isoOffset', '2017-01-04T00:15:00', 0]],
  ]
  for (const [text, expected] of rows) t.same(read(text), expected, text)
  t.same(read('1/4/2017', 'DMY'), ['slashDate', '2017-04-01T00:00:00'], 'day first where asked')
  t.same(read('2017-01-04', 'DMY'), ['isoDate', '2017-01-04T00:00:00'], 'ISO has one order')
})

test('what the calendar or the clock does not have is not a time', async (t) => {
  const wrong = [
    '4/31/2017',
    '2/29/2017',
    '2/29/2100',
    '13/1/2017',
    '0/1/2017',
    '1/0/2017',
    '1/32/2017',
    '1/4/1969',
    '1/4/2106',
    '1/4/17',
    '1/4/2017 24:00',
    '1/4/2017 0:60',
    '1/4/2017 0:00:60',
    '1/4/2017 0:15 AM',
    '1/4/2017 13:00 PM',
    '2017-02-30',
    '2017-01-04T24:00',
    '2017-1-4',
    '2017-01-04T00:15+15:00',
    '2017-01-04T00:15-05:60',
    '2017-01-04T00:15:00.000',
    '20170104',
    '',
    ' 1/4/2017',
    '1/4/2017 ',
    '1/4/2017\n',
    '1/4/2017  0:15',
    '1-4-2017',
    '1/4/2017 0:5',
    '1/4/2017 1:45PM',
    '1/4/2017T0:15',
    '2017-01-04t00:15',
    '١/٤/2017',
    '43104',
    'TimeStamp',
  ]
  for (const text of wrong) t.equal(read(text), undefined, JSON.stringify(text))
  t.ok(read('2/29/2016'))
  t.ok(read('2/29/2000'))
  t.ok(read('12/31/2105 23:59:59'))
  t.ok(read('1/1/1970'))
})

test('every day of 1970 to 2105 and no other is a day of the calendar', async (t) => {
  let days = 0
  for (let year = 1969; year <= 2106; year += 1)
    for (let month = 0; month <= 13; month += 1)
      for (let day = 0; day <= 32; day += 1) if (isCalendarDay(year, month, day)) days += 1
  t.equal(days, (Date.UTC(2106, 0, 1) - Date.UTC(1970, 0, 1)) / 86_400_000)
})

test('every time written in every format and order is read back, by one format only', async (t) => {
  const seconds = fc.integer({ min: 0, max: Date.UTC(2106, 0, 1) / 1_000 - 1 })
  const orders = fc.constantFrom<DateOrder>('MDY', 'DMY')
  sampled(
    t,
    fc.property(seconds, fc.constantFrom(...names), orders, (at, name, order) => {
      const wall = fromWallSeconds(at)
      const { year, month, day } = wall
      const text = write[name](
        wall,
        order === 'MDY' ? `${month}/${day}/${year}` : `${day}/${month}/${year}`,
      )
      const stamp = parseTimestamp(text, name, order)
      const step = isDayFormat(name)
        ? 86_400
        : name === 'slashSeconds' || name === 'isoSeconds'
          ? 1
          : 60
      return (
        stamp !== undefined &&
        detectFormat(text) === name &&
        names.filter((other) => parseTimestamp(text, other, order)).length === 1 &&
        wallSeconds(stamp.wall) === at - (at % step) &&
        stamp.offsetSeconds === (name === 'isoOffset' ? -18_000 : undefined)
      )
    }),
  )
})
