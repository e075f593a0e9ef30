/**
 * # 4.6 A meter is silent
 *
 * What: A day on which a meter sent nothing is a row of `usage_day`, with the local times of all other
 * reads beside it.
 * Why: A day that is not there is easily taken for a day without gaps.
 * Try: Query `usage_day WHERE intervals_present = 0`, then load the reads of such a day.
 */
import t from 'tap'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t)
const text = (rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`
const hours = [0, 1, 2, 3]
const day = (meter: string, on: string) => hours.map((hour) => `A,S,${meter},${on} ${hour}:00,2`)

t.test('a silent day has a row, with what it should have had and no quantity', async (t) => {
  const reads = [
    ...['11/1/2025', '11/4/2025'].flatMap((on) => day('QUIET', on)),
    ...['10/31/2025', '11/1/2025', '11/2/2025', '11/3/2025', '11/4/2025'].flatMap((on) =>
      day('LOUD', on),
    ),
    ...day('NEW', '11/4/2025'),
  ]
  const receipt = await story.loadBytes('DEMO_05112025_Electric.csv', text(reads))
  t.match(receipt, { status: 'published' })
  const days = await story.reader.rows({
    sql: `SELECT meter_id, toString(local_day) AS day, seconds, unit, toString(quantity) AS quantity,
      intervals_expected AS expected, intervals_present AS present, isNull(published_seq) AS unnumbered, time_zone
    FROM usage_day WHERE meter_id != 'LOUD' ORDER BY meter_id DESC, local_day`,
  })
  const heard = { quantity: '8', present: 4, seconds: 3_600, unnumbered: 0 }
  const silent = { quantity: null, present: 0, seconds: 900, unnumbered: 1 }
  const shared = { meter_id: 'QUIET', unit: 'kWh', time_zone: 'America/Detroit' }
  t.same(days, [
    { ...shared, day: '2025-11-01', ...heard, expected: 24 },
    { ...shared, day: '2025-11-02', ...silent, expected: 100 },
    { ...shared, day: '2025-11-03', ...silent, expected: 96 },
    { ...shared, day: '2025-11-04', ...heard, expected: 24 },
    { ...shared, meter_id: 'NEW', day: '2025-11-04', ...heard, expected: 24 },
  ])
})

t.test('the reads of the day take its place', async (t) => {
  await story.loadBytes('DEMO_06112025_Electric.csv', text(day('QUIET', '11/3/2025')))
  const days = await story.reader.rows({
    sql: `SELECT toString(local_day) AS day FROM usage_day
      WHERE intervals_present = 0 AND local_day BETWEEN '2025-11-01' AND '2025-11-30'`,
  })
  t.same(days, [{ day: '2025-11-02' }])
})

t.test('both hours of the clock change have a time of their own, and say the zone', async (t) => {
  const rows = ['0:00', '1:00', '1:00', '2:00'].map((at) => `A,S,TWICE,11/2/2025 ${at},1`)
  await story.loadBytes('DEMO_07112025_Electric.csv', text(rows))
  const reads = await story.reader.rows({
    sql: `SELECT toString(starts_at) AS utc, toString(local_start) AS local, local_hour AS hour, time_zone,
      toTypeName(local_start) AS type, local_start = starts_at AS same
    FROM usage WHERE meter_id = 'TWICE' ORDER BY starts_at`,
  })
  const shared = { time_zone: 'America/Detroit', type: "DateTime('America/Detroit')", same: 1 }
  t.same(
    reads,
    [
      ['04', '00'],
      ['05', '01'],
      ['06', '01'],
      ['07', '02'],
    ].map(([utc, local]) => ({
      utc: `2025-11-02 ${utc}:00:00`,
      local: `2025-11-02 ${local}:00:00`,
      hour: Number(local),
      ...shared,
    })),
  )
})

t.test('a replaced read names the unit of its quantities', async (t) => {
  await story.loadBytes('DEMO_08112025_Electric.csv', text(['A,S,LOUD,11/3/2025 0:00,9']))
  const restated = await story.reader.rows({
    sql: 'SELECT toString(old_quantity) AS old, toString(new_quantity) AS new, unit FROM usage_restatement',
  })
  t.same(restated, [{ old: '2', new: '9', unit: 'kWh' }])
})
