import t from 'tap'
import { convert, profileWith } from '../convert.js'

const berlin = { timeZone: 'Europe/Berlin' }
const spring = '2026-03-29'
const autumn = '2026-10-25'
const upTo = (count: number) => Array.from({ length: count }, (_, at) => String(at + 1))

function setting(count: number, more: object = {}) {
  const columns = { meter: 'Meter', time: 'Day', values: { from: 'H1', count } }
  return { ...berlin, format: { name: 'csv', interval: 3_600, clock: 'wall', columns, ...more } }
}

/** The rows of a day as instants and quantities, or why it is refused; and the notes. */
async function load(day: string, values: readonly string[], more: object = {}) {
  const names = values.map((_, at) => `H${at + 1}`)
  const file = `Meter,Day,${names.join()}\nM,${day},${values.join()}\n`
  const { plain, records, ending } = await convert(file, setting(values.length, more))
  const reads = plain.split('\n').filter((row) => row !== '')
  return {
    refused: records.find(({ refused }) => refused)?.refused,
    reads: reads.map((row) => `${row.split(',')[3]?.slice(11, 13)} ${row.split(',')[4]}`),
    notes: ending.warnings,
  }
}

const hole = (count: number) => [
  ...upTo(24).map((one) => (one === '3' ? '' : one)),
  ...Array.from({ length: count - 24 }, () => ''),
]
const skipped = 'intervals that the clock skips, empty or 0: not loaded: 1'

t.test('a row of the hours of the clock loads without the hour that the clock skips', async (t) => {
  for (const count of [24, 25])
    for (const more of [{}, { numbering: 'clock' }]) {
      const { refused, reads, notes } = await load(spring, hole(count), more)
      t.equal(refused, undefined)
      t.equal(reads.length, 23)
      t.same(reads.slice(0, 3), ['23 1', '00 2', '01 4'])
      t.equal(reads.at(-1), '21 24')
      t.same(notes, [skipped])
    }
})

t.test(
  'with numbering: clock, a zero of this hour is left out, and another value refused',
  async (t) => {
    const zero = await load(
      spring,
      upTo(24).map((one) => (one === '3' ? '0.0' : one)),
      { numbering: 'clock' },
    )
    t.same([zero.reads.length, zero.notes], [23, [skipped]])
    const full = await load(spring, upTo(24), { numbering: 'clock' })
    t.match(full.refused, { code: 'INTERVAL_COUNT', detail: /clock skips .* has values for it/ })
  },
)

t.test('a hole where the last hour is empty too could mean either, and is refused', async (t) => {
  const values = hole(24).map((one) => (one === '24' ? '' : one))
  const { refused } = await load(spring, values)
  t.match(refused, { code: 'INTERVAL_COUNT', detail: /set numbering to clock or counted/ })
  const clock = await load(spring, values, { numbering: 'clock' })
  t.same([clock.reads.length, clock.reads.at(-1)], [22, '20 23'])
  t.same(clock.notes, [skipped, 'intervals without a value: not loaded: 1'])
  const counted = await load(spring, values, { numbering: 'counted' })
  t.same([counted.reads.length, counted.reads.at(-1)], [22, '21 23'])
  const sparse = await load(spring, hole(24), { numbering: 'counted' })
  t.match(sparse.refused, { code: 'INTERVAL_COUNT', detail: /23 intervals, the row 23 values/ })
})

t.test(
  'with numbering: clock, second values of a repeated hour are in the last columns',
  async (t) => {
    const { reads, refused } = await load(autumn, upTo(25), { numbering: 'clock' })
    t.equal(refused, undefined)
    t.same(reads.slice(0, 5), ['22 1', '23 2', '00 3', '01 25', '02 4'])
    t.equal(reads.at(-1), '22 24')
    for (const more of [{}, { numbering: 'counted' }]) {
      const counted = await load(autumn, upTo(25), more)
      t.same([counted.reads[3], counted.reads.at(-1)], ['01 4', '22 25'])
    }
  },
)

t.test('one value for an hour that occurs twice is refused with what to send', async (t) => {
  for (const more of [{}, { numbering: 'clock' }, { numbering: 'counted' }])
    for (const values of [upTo(24), [...upTo(24), '']]) {
      const { refused } = await load(autumn, values, more)
      t.match(refused, { code: 'INTERVAL_COUNT', detail: /occurs twice.* send this day with both/ })
    }
})

t.test('other days and clocks are as they were', async (t) => {
  const { reads } = await load('2026-03-30', [...upTo(24), ''], { numbering: 'clock' })
  t.equal(reads.length, 24)
  const long = await load('2026-03-30', upTo(25), { numbering: 'clock' })
  t.match(long.refused, { code: 'INTERVAL_COUNT' })
  const standard = await load(spring, hole(24), { clock: 'standard' })
  t.same(
    [standard.reads.length, standard.notes],
    [23, ['intervals without a value: not loaded: 1']],
  )
  t.throws(() => profileWith(setting(24, { clock: 'standard', numbering: 'clock' })), {
    message: /leave it out/,
  })
})
