import t from 'tap'
import { convert } from '../convert.js'

const format = { name: 'csv', columns: { meter: 'Meter', time: 'Time', quantity: 'Value' } }

/** The timestamps of the plain rows of a file with these times. */
async function timestampsOf(times: readonly string[], more: object = {}) {
  const rows = times.map((time) => `M;${time};1\n`).join('')
  const { plain, ending } = await convert(`Meter;Time;Value\n${rows}`, {
    format: { ...format, delimiter: ';', ...more },
  })
  const lines = plain.split('\n').filter((row) => row !== '')
  return { timestamps: lines.map((row) => row.split(',')[3]), ending }
}

t.test('a date with the name of its month needs no order of day and month', async (t) => {
  const cases: readonly (readonly [sent: string, plain: string])[] = [
    ['01-Jan-2026', '2026-01-01'],
    ['1-JAN-26', '2026-01-01'],
    ['01JAN2026:00:15:00', '2026-01-01 00:15:00'],
    ['1 January 2026 3:15', '2026-01-01 03:15'],
    ['2. Sept. 2026 00:00', '2026-09-02 00:00'],
    ['Jan 1, 2026', '2026-01-01'],
    ['December 31, 2025 24:00', '2026-01-01 00:00'],
    ['May 3rd, 2026 12:15 am', '2026-05-03 00:15'],
    ['Jan 1 2026 12:00:00 PM', '2026-01-01 12:00:00'],
    ['01-JAN-26 11.45.00.000000 PM', '2026-01-01 23:45:00'],
    ['2026-Jan-01 01:00', '2026-01-01 01:00'],
    ['01-Jan-2026T01:00Z', '2026-01-01 01:00Z'],
    ['01-Jan-2026 01:00 +05:30', '2026-01-01 01:00+05:30'],
  ]
  for (const [sent, plain] of cases) {
    const found = await timestampsOf([sent], { dateOrder: 'DMY' })
    t.same(found.timestamps, [plain], sent)
    t.same([...(found.ending.dates ?? [])], [], 'names of months leave nothing to prove')
    t.equal(found.ending.timestampFormat, undefined, 'the plain layout has no such times')
  }
})

t.test('what is not a date with a month stays as it is', async (t) => {
  const sent = [
    '01-Foo-2026',
    '01-Jan-126',
    'Jan 2026',
    'January',
    '2026-Jan-01 13:15 PM',
    '2026-Jan-01 0:15 AM',
    '01-Jan-2026 soon',
    '01-Jan-2026 01:00 EST',
    '1 Janvier 2026',
  ]
  t.same((await timestampsOf(sent)).timestamps, sent)
  t.same((await timestampsOf(['31-Feb-2026 01:00'])).timestamps, ['2026-02-31 01:00'])
})

t.test('a year of two digits is read where the profile says so', async (t) => {
  const sent = [
    '3/4/26 14:15',
    '03-04-26',
    '28.03.26 1:00',
    '3/4/2026 0:00',
    '3/31/26 24:00',
    '26/3/4',
  ]
  const long = [
    '3/4/2026 14:15',
    '03/04/2026',
    '28/03/2026 1:00',
    '3/4/2026 0:00',
    '04/01/2026 00:00',
  ]
  const read = await timestampsOf(sent, { yearDigits: 2 })
  t.same(read.timestamps, [...long, '26/3/4'])
  t.same([...(read.ending.dates ?? [])], ['3/4/2026', '03/04/2026', '28/03/2026', '3/31/2026'])
  t.equal(read.ending.timestampFormat, undefined, 'the plain layout has no such times')
  t.same((await timestampsOf(['3/4/26 14:15'])).timestamps, ['3/4/26 14:15'])
})

t.test('the date order is proved by dates as they are written', async (t) => {
  const days = ['01/12/2026 24:00', '02/12/2026 24:00', '31/12/2026 24:00', '2026-12-31 24:00']
  for (const dateOrder of ['MDY', 'DMY'] as const) {
    const { ending } = await timestampsOf(days, { dateOrder })
    t.same([...(ending.dates ?? [])], ['01/12/2026', '02/12/2026', '31/12/2026'], dateOrder)
  }
  const { ending } = await timestampsOf(['01.12.2026 24:00'], { dateOrder: 'MDY' })
  t.same([...(ending.dates ?? [])], ['01/12/2026'])
})

t.test('the day of a wide row may be the 24th, and never is a time 24:00', async (t) => {
  const columns = { meter: 'Meter', time: 'Day', values: { from: 'H1', count: 24 } }
  const setting = { format: { name: 'csv', delimiter: ';', interval: 3_600, columns } }
  const hours = Array.from({ length: 24 }, (_, at) => `H${at + 1}`)
  const firstOf = async (day: string) => {
    const file = `Meter;Day;${hours.join(';')}\nM;${day};${hours.map(() => '1').join(';')}\n`
    const [, record] = (await convert(file, setting)).records
    return record?.refused?.code ?? record?.rows.split(',')[3]
  }
  for (const day of ['January 24, 2026', 'Jan 24 2026', '24 Jan 2026', '20260124 00:00']) {
    t.equal(await firstOf(day), '2026-01-23T14:00:00Z', day)
  }
  for (const day of ['2026-01-24 24:00', '202601242400', '2026-01-24-24.00.00']) {
    t.equal(await firstOf(day), 'NOT_A_TIME', day)
  }
})

t.test('a time of day with AM and PM is that of a clock of 24 hours', async (t) => {
  const cases: readonly (readonly [date: string, timeOfDay: string, plain: string])[] = [
    ['01-Jan-2026', '12:15 AM', '2026-01-01 00:15'],
    ['2026-01-01', '1:15 pm', '2026-01-01 13:15'],
    ['1/13/2026', '12:00:00 PM', '1/13/2026 12:00:00'],
    ['2026-01-01', '13:15 PM', '2026-01-01 13:15 PM'],
  ]
  for (const [date, timeOfDay, plain] of cases) {
    const { plain: rows } = await convert(`M,D,T,V\nM,${date},${timeOfDay},1\n`, {
      format: {
        name: 'csv',
        columns: { meter: 'M', time: 'D', timeOfDay: 'T', quantity: 'V' },
      },
    })
    t.equal(rows.split('\n')[1]?.split(',')[3], plain, `${date} ${timeOfDay}`)
  }
  t.same((await timestampsOf(['2026-01-01 1:15 PM'])).timestamps, ['2026-01-01 13:15'])
})

t.test('a month by its name is at an offset, too', async (t) => {
  const { timestamps } = await timestampsOf(['01-Jan-2026 01:00'], { clock: '-05:00' })
  t.same(timestamps, ['2026-01-01T06:00:00Z'])
})
