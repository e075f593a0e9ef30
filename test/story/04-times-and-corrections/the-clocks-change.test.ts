/**
 * # 4.3 The clocks change
 *
 * What: The repeated hour keeps both its rows, however its files are cut; the skipped hour is
 * rejected, days have 23 or 25 hours.
 * Why: Two hours a year are where most usage data goes wrong.
 * Try: Query `usage_day` for the days of the clock changes: `intervals_expected` is 92 or 100.
 */
import t from 'tap'
import { balance } from '../../../schemas/receipt.js'
import { sample } from '../../rig/sample.js'
import { createStory, header, type StoryStack } from '../rig/stack.js'

interface Read {
  readonly at: string
  readonly quantity: string
}

let open: { readonly key: string; readonly story: StoryStack } | undefined
const closeOpen = async () => {
  const closing = open?.story
  open = undefined
  await closing?.close()
}
t.teardown(closeOpen)

/** One at a time: a stack has work to do even when it is idle. */
async function storyOf(timeZone: string, usage: Readonly<Record<string, unknown>> = {}) {
  const key = JSON.stringify([timeZone, usage])
  if (open?.key === key) return open.story
  await closeOpen()
  open = { key, story: await createStory({ profile: { timeZone, usage } }) }
  return open.story
}

/** Rows of one meter; the quantity is the row's number. */
const rowsOf = (meter: string, stamps: readonly string[]) =>
  stamps.map((stamp, index) => `A,S,${meter},${stamp},${index + 1}`)

async function readsOf(story: StoryStack, meter: string) {
  return story.reader.rows<Read>({
    sql: `SELECT formatDateTime(starts_at, '%m-%d %H:%i', 'UTC') AS at, toString(quantity) AS quantity
      FROM usage WHERE meter_id = {meter:String} ORDER BY starts_at`,
    parameters: { meter },
  })
}

/** The timestamps of the hour that the clock repeats. */
const twice = ['1:00', '1:15', '1:30', '1:45']
const text = (rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`

t.test('the clocks go back: both rows of the repeated hour stand, in file order', async (t) => {
  const story = await storyOf('America/Detroit')
  const stamps = ['0:00', '1:00', '1:00', '2:00'].map((time) => `11/2/2025 ${time}`)
  const receipt = await story.loadBytes(
    'DEMO_03112025_Electric.csv',
    text([...rowsOf('BACK', stamps), ...rowsOf('ONCE', [stamps[0] ?? '', stamps[1] ?? ''])]),
  )
  t.match(receipt, { status: 'published', rows: { accepted: 6 }, repeatedHourRows: 3 })
  t.ok(balance(receipt))
  t.same(await readsOf(story, 'BACK'), [
    { at: '11-02 04:00', quantity: '1' },
    { at: '11-02 05:00', quantity: '2' },
    { at: '11-02 06:00', quantity: '3' },
    { at: '11-02 07:00', quantity: '4' },
  ])
  t.same((await readsOf(story, 'ONCE')).at(-1), { at: '11-02 05:00', quantity: '2' })
})

t.test('rows of a meter need not be neighbours; a third is compared with the second', async (t) => {
  const story = await storyOf('America/Detroit')
  const one = rowsOf('FAR', ['11/2/2025 0:00', '11/2/2025 1:00'])
  const others = Array.from({ length: 30_000 }, (_, index) => `A,S,O${index},11/2/2025 5:00,1`)
  const again = ['A,S,FAR,11/2/2025 1:00,7', 'A,S,FAR,11/2/2025 1:00,9']
  const receipt = await story.loadBytes(
    'DEMO_03112025_Electric_2.csv',
    text([...one, ...others, ...again]),
  )
  t.match(receipt, { rows: { accepted: 30_003, superseded: 1 }, repeatedHourRows: 3 })
  t.ok(story.home.landing, 'with chunks of 1 MB the rows lie in different ones')
  t.same(await readsOf(story, 'FAR'), [
    { at: '11-02 04:00', quantity: '1' },
    { at: '11-02 05:00', quantity: '2' },
    { at: '11-02 06:00', quantity: '9' },
  ])
})

t.test('a rejected row of the repeated hour holds its place', async (t) => {
  const story = await storyOf('America/Detroit')
  const stamps = ['1/2025 23:00', '2/2025 0:00', '2/2025 1:00', '2/2025 1:00'].map(
    (at) => `11/${at}`,
  )
  const spoilt = (meter: string, at: number) =>
    rowsOf(meter, stamps).map((row, index) => (index === at ? row.replace(/\d+$/, 'n/a') : row))
  const name = 'DEMO_03112025_Electric_3.csv'
  const receipt = await story.loadBytes(
    name,
    text([...spoilt('NOFIRST', 2), ...spoilt('NOSECOND', 3)]),
  )
  t.match(receipt, { rows: { accepted: 6, rejected: 2 }, repeatedHourRows: 2 })
  const hours = async (meter: string) => (await readsOf(story, meter)).map(({ at }) => at.slice(6))
  t.same(await hours('NOFIRST'), ['03:00', '04:00', '06:00'])
  t.same(await hours('NOSECOND'), ['03:00', '04:00', '05:00'])
  t.equal(receipt.lastIntervalEnd, '2025-11-02T07:00:00.000Z')
})

t.test('files of one row each, sent at once, are each at their hour', async (t) => {
  const story = await storyOf('America/Detroit')
  const times = ['0:45', ...twice, ...twice, '2:00']
  const rows = rowsOf(
    'ALONE',
    times.map((time) => `11/2/2025 ${time}`),
  )
  const files = rows.map((row, index) => [`DEMO_04112025_Electric_${index}.csv`, text([row])])
  const receipts = await story.loadAll(Object.fromEntries(files))
  for (const receipt of receipts) {
    t.match(receipt, { status: 'published', rows: { accepted: 1 }, ambiguousHourRows: 0 })
  }
  const reads = await readsOf(story, 'ALONE')
  t.same(
    reads.map(({ quantity }) => quantity),
    rows.map((_, index) => String(index + 1)),
  )
  t.match([reads[1], reads[5]], [{ at: '11-02 05:00' }, { at: '11-02 06:00' }])
})

t.test(
  'a correction of one hour has the read beside it; without it nothing is replaced',
  async (t) => {
    const story = await storyOf('America/Detroit')
    const first = await story.loadBytes(
      'DEMO_05112025_Electric.csv',
      text(rowsOf('ALONE', ['11/2/2025 1:15', '11/2/2025 1:30'])),
    )
    t.match(first, { status: 'quarantined', rows: { rejected: 2 }, ambiguousHourRows: 2 })
    t.match(first.reason, /all 2 rows are not usable/)
    t.match(first.notes, [/2, of which 2 are rejected \(AMBIGUOUS_TIME\)/])
    const second = await story.loadBytes(
      'DEMO_05112025_Electric_2.csv',
      text(rowsOf('ALONE', ['11/2/2025 1:45', '11/2/2025 2:00'])),
    )
    t.match(second, { status: 'published', rows: { accepted: 2 }, restated: { rows: 2 } })
    const reads = await readsOf(story, 'ALONE')
    t.same(reads[8], { at: '11-02 06:45', quantity: '1' })
  },
)

t.test('the clocks go forward: the skipped hour is rejected, the day has 23 hours', async (t) => {
  const story = await storyOf('America/Detroit')
  const stamps = ['1:00', '2:00', '3:00'].map((time) => `3/9/2025 ${time}`)
  const receipt = await story.loadBytes(
    'DEMO_10032025_Electric.csv',
    text(rowsOf('FORTH', ['3/9/2025 0:00', ...stamps])),
  )
  t.match(receipt, { status: 'published', rows: { accepted: 3, rejected: 1 } })
  const [row] = await story.reader.rows({
    sql: `SELECT code, line FROM rejected_row WHERE file_name = 'DEMO_10032025_Electric.csv'`,
  })
  t.same(row, { code: 'NONEXISTENT_TIME', line: 4 })
  const [day] = await story.reader.rows({
    sql: `SELECT intervals_expected, intervals_present, seconds FROM usage_day
      WHERE meter_id = 'FORTH' AND intervals_present > 0`,
  })
  t.same(day, { intervals_expected: 23, intervals_present: 3, seconds: 3_600 })
})

const stampAtEnd = { stamp: 'end', intervals: { Electric: [900, 3_600, 'day'] } }

t.test('a stamp at the end of its interval becomes an instant first', async (t) => {
  const story = await storyOf('America/Detroit', stampAtEnd)
  const stamps = ['1:00', '1:00', '2:00', '3:00'].map((time) => `11/2/2025 ${time}`)
  await story.loadBytes('DEMO_03112025_Electric.csv', text(rowsOf('END', stamps)))
  t.same(await readsOf(story, 'END'), [
    { at: '11-02 04:00', quantity: '1' },
    { at: '11-02 05:00', quantity: '2' },
    { at: '11-02 06:00', quantity: '3' },
    { at: '11-02 07:00', quantity: '4' },
  ])
})

t.test('a stamp at the end is counted back by the length of its own meter', async (t) => {
  const story = await storyOf('America/Detroit', stampAtEnd)
  const quarters = ['0:15', '0:30', '0:45', '1:00'].map((time) => `7/15/2025 ${time}`)
  const hours = ['1:00', '2:00', '3:00'].map((time) => `7/15/2025 ${time}`)
  const days = ['11/2/2025 0:00', '11/3/2025 0:00', '11/4/2025 0:00']
  const mixed = [...rowsOf('Q', quarters), ...rowsOf('H', hours), ...rowsOf('D', days)]
  const name = 'DEMO_05112025_Electric.csv'
  const first = await story.loadBytes(name, text(mixed))
  t.match(first, { status: 'published', rows: { read: 10, accepted: 10 } })
  t.equal(first.lastIntervalEnd, '2025-11-04T05:00:00.000Z')
  t.same(
    (await readsOf(story, 'Q')).map((read) => read.at),
    ['07-15 04:00', '07-15 04:15', '07-15 04:30', '07-15 04:45'],
  )
  t.same(
    (await readsOf(story, 'H')).map((read) => read.at),
    ['07-15 04:00', '07-15 05:00', '07-15 06:00'],
  )
  const stored = await story.reader.rows({
    sql: `SELECT toString(local_day) AS day, local_hour AS hour, seconds FROM usage
      WHERE meter_id = 'D' ORDER BY starts_at`,
  })
  t.same(
    stored,
    ['2025-11-01', '2025-11-02', '2025-11-03'].map((day) => ({ day, hour: 0, seconds: 86_400 })),
  )
  const gas = [...rowsOf('GD', days), ...rowsOf('GH', hours)]
  const second = await story.loadBytes('DEMO_05112025_Gas.csv', text(gas))
  t.match(second, { status: 'published', rows: { read: 6, accepted: 6, superseded: 0 } })
  t.equal(second.firstIntervalStart, '2025-07-15T04:00:00.000Z')
})

t.test('meters that ignore daylight time have no hour twice and none missing', async (t) => {
  const story = await storyOf('America/Detroit', { clock: 'standard' })
  const stamps = ['3/9/2025 1:00', '3/9/2025 2:00', '7/1/2025 0:00', '11/2/2025 1:00']
  await story.loadBytes('DEMO_03112025_Electric.csv', text(rowsOf('STD', stamps)))
  t.same(
    (await readsOf(story, 'STD')).map((read) => read.at),
    ['03-09 06:00', '03-09 07:00', '07-01 05:00', '11-02 06:00'],
  )
})

t.test('each zone has its own clock', async (t) => {
  const cases = [
    ['America/Chicago', ['11-02 06:00', '11-02 07:00']],
    ['America/Toronto', ['11-02 05:00', '11-02 06:00']],
    ['America/Phoenix', ['11-02 08:00']],
    ['America/St_Johns', ['11-02 03:30', '11-02 04:30']],
  ] as const
  for (const [zone, expected] of cases.slice(sample({ short: 3, long: 0 }))) {
    const story = await storyOf(zone)
    const rows = rowsOf('Z', [
      '11/2/2025 1:00',
      '11/2/2025 1:00',
      '11/2/2025 5:00',
      '11/2/2025 6:00',
    ])
    await story.loadBytes('DEMO_03112025_Electric.csv', text(rows))
    const reads = await readsOf(story, 'Z')
    t.same(
      reads.slice(0, expected.length).map((read) => read.at),
      expected,
      zone,
    )
  }
})
