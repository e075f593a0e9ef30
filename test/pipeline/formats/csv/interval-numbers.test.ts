import t from 'tap'
import { readTimestamp } from '../../../../schemas/time/read-timestamp.js'
import { createZone } from '../../../../schemas/time/zone.js'
import { convert, profileWith } from '../convert.js'

const columns = { meter: 'Meter', time: 'Day', intervalNumber: 'No', quantity: 'Value' }
const header = 'Meter,Day,No,Value\n'

interface Sent {
  readonly meter: string
  readonly day: string
  readonly number: number
  readonly start: number
}

/** How a sender numbers the intervals of a day, with the instants that it means. */
type Sender = (
  zone: ReturnType<typeof createZone>,
  day: string,
  interval: number,
) => readonly Omit<Sent, 'meter'>[]

const count = (length: number) => Array.from({ length }, (_, at) => at)
const fixed =
  (offsetOf: (zone: ReturnType<typeof createZone>) => number): Sender =>
  (zone, day, interval) =>
    count(86_400 / interval).map((at) => ({
      day,
      number: at + 1,
      start: Date.parse(`${day}T00:00:00Z`) / 1_000 - offsetOf(zone) + at * interval,
    }))

const senders: Readonly<Record<string, { readonly sender: Sender; readonly setting: object }>> = {
  counted: {
    setting: { clock: 'wall', numbering: 'counted' },
    sender: (zone, day, interval) =>
      count(zone.daySeconds(day) / interval).map((at) => ({
        day,
        number: at + 1,
        start: zone.dayStart(day) + at * interval,
      })),
  },
  clock: {
    setting: { clock: 'wall', numbering: 'clock' },
    sender: (zone, day, interval) =>
      count(zone.daySeconds(day) / interval).map((at) => {
        const start = zone.dayStart(day) + at * interval
        const { hour, minute } = zone.toWall(start)
        return { day, number: (hour * 3_600 + minute * 60) / interval + 1, start }
      }),
  },
  standard: {
    setting: { clock: 'standard' },
    sender: fixed((zone) => zone.standardOffsetSeconds(2026)),
  },
  'an offset': { setting: { clock: '-06:00' }, sender: fixed(() => -6 * 3_600) },
}

const zones = {
  'America/New_York': ['2026-03-08', '2026-11-01'],
  'Europe/London': ['2026-03-29', '2026-10-25'],
  'Europe/Berlin': ['2026-03-29', '2026-10-25'],
  'America/Havana': ['2026-03-08', '2026-11-01'],
}

const textOf = (rows: readonly Sent[]) =>
  header + rows.map(({ meter, day, number }) => `${meter},${day},${number},1\n`).join('')

/** The reads that a load would store; repeats are distinguished by their order, as a load does. */
async function readsOf(rows: readonly Sent[], timeZone: string, more: object) {
  const zone = createZone(timeZone)
  const { plain, rowFormat } = await convert(textOf(rows), {
    timeZone,
    format: { name: 'csv', columns, ...more },
  })
  t.equal(rowFormat.times?.stamp, 'start', 'a number names the start of its interval')
  const seen = new Map<string, number>()
  const lines = plain.split('\n').filter((row) => row !== '')
  return lines.map((line) => {
    const [, , meter, text = ''] = line.split(',')
    const rules = { zone, dateOrder: 'MDY', clock: 'wall', stamp: 'start' } as const
    const starts = readTimestamp(text, { ...rules, format: undefined, seconds: 3_600 })
    const nth = seen.get(`${meter} ${text}`) ?? 0
    seen.set(`${meter} ${text}`, nth + 1)
    // There once, without the row before it: standard time (decision 15).
    const isOnce = lines.filter((one) => one.includes(`,${meter},${text},`)).length === 1
    const at = isOnce ? -1 : Math.min(nth, 1)
    return `${meter} ${typeof starts === 'string' ? starts : starts.at(at)}`
  })
}

const meters = ['M1', 'M2']
const daysAround = (day: string) => [
  new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10),
  day,
]

t.test('each hour is the right one, or the file is refused', async (t) => {
  for (const [timeZone, days] of Object.entries(zones)) {
    const zone = createZone(timeZone)
    for (const interval of [3_600, 1_800, 900]) {
      for (const changed of days) {
        for (const [how, { sender }] of Object.entries(senders)) {
          const byMeter = meters.flatMap((meter) =>
            daysAround(changed).flatMap((day) =>
              sender(zone, day, interval).map((row) => ({ meter, ...row })),
            ),
          )
          const byTime = [...byMeter].sort((a, b) => a.start - b.start)
          for (const rows of [byMeter, byTime]) {
            for (const [as, { setting }] of Object.entries(senders)) {
              const what = `${how} read as ${as}, ${timeZone} ${changed} ${interval}`
              const found = readsOf(rows, timeZone, { interval, ...setting })
              const isFixed = how === 'an offset' || how === 'standard'
              if (as === how) {
                const expected = rows.map(({ meter, start }) => `${meter} ${start}`)
                t.same(await found, expected, what)
              } else if (!(isFixed && (as === 'standard' || as === 'an offset'))) {
                await t.rejects(found, { code: 'INTERVAL_NUMBER' }, what)
              } else await found
            }
          }
        }
      }
    }
  }
})

t.test('a part of a day is refused where it shows another numbering', async (t) => {
  const zone = createZone('America/New_York')
  const parts: readonly (readonly [string, (row: Sent) => boolean])[] = [
    ['its first half', ({ number }) => number <= 12],
    ['without its first hour', ({ number }) => number !== 1],
    ['without its last hours', ({ number }) => number < 23],
  ]
  for (const changed of zones['America/New_York']) {
    for (const [how, as] of [
      ['clock', 'counted'],
      ['counted', 'clock'],
      ['clock', 'standard'],
      ['standard', 'clock'],
    ] as const) {
      const rows = (senders[how]?.sender(zone, changed, 3_600) ?? []).map((row) => ({
        meter: 'M1',
        ...row,
      }))
      for (const [what, isKept] of parts) {
        const setting = { interval: 3_600, ...senders[as]?.setting }
        const sent = rows.filter(isKept)
        const found = await readsOf(sent, 'America/New_York', setting).catch(({ code }) => code)
        const right = sent.map(({ meter, start }) => `${meter} ${start}`)
        // From within the repeated hour on, the numbers may be those of either.
        const isSame = JSON.stringify(found) === JSON.stringify(right)
        t.ok(isSame || found === 'INTERVAL_NUMBER', `${how} as ${as}: ${changed} ${what}`)
      }
    }
  }
})

t.test('a day on which the clock changes is not read before the profile says how', async (t) => {
  const format = { name: 'csv', columns, interval: 3_600 }
  const rows = ['2026-03-07', '2026-03-08'].map((day) => `M,${day},2,1\n`).join('')
  const { records } = await convert(header + rows, { timeZone: 'America/New_York', format })
  t.match(records.slice(1), [
    { count: 1, refused: undefined },
    { refused: { code: 'NOT_A_TIME', detail: /^the clock changes on this day: set numbering/ } },
  ])
})

t.test('numbers may begin with 0, and have letters before them', async (t) => {
  const format = { name: 'csv', columns, interval: 1_800 }
  const cases: readonly (readonly [number: string, more: object, time: string | RegExp])[] = [
    ['1', {}, '2026-01-02T00:00:00Z'],
    ['HE 02', {}, '2026-01-02T00:30:00Z'],
    ['SP48', {}, '2026-01-02T23:30:00Z'],
    ['0', { firstNumber: 0 }, '2026-01-02T00:00:00Z'],
    ['47', { firstNumber: 0 }, '2026-01-02T23:30:00Z'],
    ['0', {}, /no number of an interval/],
    ['', {}, /no number of an interval/],
    ['02X', {}, /no number of an interval/],
    ['1.5', {}, /no number of an interval/],
    ['-1', {}, /no number of an interval/],
    ['9999', {}, /no number of an interval/],
    ['51', {}, /no number of an interval/],
  ]
  for (const [number, more, expected] of cases) {
    const setting = { timeZone: 'UTC', format: { ...format, ...more } }
    const { records } = await convert(`${header}M,2026-01-02,${number},7\n`, setting)
    const [, found] = records
    if (typeof expected === 'string') t.equal(found?.rows, `M,M,M,${expected},7,0,\n`, number)
    else t.match(found?.refused, { code: 'NOT_A_TIME', detail: expected }, number)
  }
  const noDay = await convert(`${header}M,soon,1,7\n`, { timeZone: 'UTC', format })
  t.match(noDay.records[1]?.refused, { code: 'NOT_A_TIME', detail: /has no day/ })
  const file = `${header}M,2026-01-02,49,7\n`
  await t.rejects(convert(file, { timeZone: 'UTC', format }), {
    code: 'INTERVAL_NUMBER',
    message: /2026-01-02 has 48 intervals, and there is number 49/,
  })
})

t.test('an empty place for an interval that the day does not have is not a read', async (t) => {
  const format = { name: 'csv', columns, interval: 3_600, numbering: 'clock' }
  const row = (number: number, value: string) => `M,2026-03-08,${number},${value}\n`
  const setting = { timeZone: 'America/New_York', format }
  const own = await convert(header + row(2, '1') + row(3, '') + row(4, '2'), setting)
  t.same(
    own.records.map((record) => record.count),
    [0, 1, 0, 1],
  )
  t.match(own.ending.warnings, [/without a value, which their day does not have: not loaded: 1/])
  const counted = { ...setting, format: { ...format, numbering: 'counted' } }
  const long = await convert(header + row(23, '1') + row(24, ''), counted)
  t.same(
    long.records.map((record) => record.count),
    [0, 1, 0],
  )
  await t.rejects(convert(header + row(2, '1') + row(3, '0') + row(4, '2'), setting), {
    code: 'INTERVAL_NUMBER',
  })
})

t.test('a file that is cut is not judged by what it has of a day', async (t) => {
  const format = { name: 'csv', columns, interval: 3_600, numbering: 'counted' }
  const rows = count(24).map((at) => `M,2026-11-01,${at + 1},1\n`)
  const setting = { timeZone: 'America/New_York', format }
  const { ending } = await convert(`${header}${rows.join('')}M,2026-1`, setting)
  t.match(ending.cut, /last line is incomplete/)
})

t.test('settings of numbers that contradict each other are refused in the profile', async (t) => {
  const format = { name: 'csv', columns, interval: 3_600 }
  const cases: readonly (readonly [more: object, reason: RegExp])[] = [
    [{ interval: undefined }, /state the length of the intervals that are numbered/],
    [{ clock: 'standard', numbering: 'clock' }, /only with clock: wall/],
    [{ columns: { ...columns, timeOfDay: 'T' } }, /timeOfDay says the time of day/],
    [
      { columns: { ...columns, quantity: undefined, values: { from: 'A', count: 24 } } },
      /the place of a value says its time of day/,
    ],
    [
      { columns: { meter: 'M', time: 'T', quantity: 'Q' }, numbering: 'clock' },
      /only columns\.intervalNumber and columns\.values need it/,
    ],
  ]
  for (const [more, message] of cases) {
    t.throws(() => profileWith({ format: { ...format, ...more } }), { message })
  }
})
