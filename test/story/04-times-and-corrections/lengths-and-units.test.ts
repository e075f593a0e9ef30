/**
 * # 4.4 Interval lengths and units
 *
 * What: Each meter has an interval length and a unit of its own, found in the file and the
 * registration.
 * Why: Daily and hourly reads of one meter must never be added up.
 * Try: Load a file with hourly and 15-minute meters and compare `seconds` in `usage`.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t, {
  profile: { usage: { unit: { Electric: 'Wh', Gas: 'cm' } } },
})
const text = (rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`

t.test('each meter of a file has its own interval length', async (t) => {
  const rows = ['0:00', '0:15', '0:30', '0:45']
    .map((at) => `A,S,Q,7/15/2025 ${at},1000`)
    .concat(['0:00', '1:00', '3:00'].map((at) => `A,S,H,7/15/2025 ${at},2000`))
    .concat(['0:00', '0:05', '0:10'].map((at) => `A,S,F,7/15/2025 ${at},3`))
    .concat(['A,S,ONE,7/15/2025 0:00,5'])
  const receipt = await story.loadBytes('DEMO_16072025_Electric.csv', text(rows))
  t.match(receipt, { status: 'published', rows: { read: 11, accepted: 8, rejected: 3 } })
  const lengths = await story.reader.rows({
    sql: `SELECT meter_id, any(seconds) AS seconds, count() AS rows, toString(sum(quantity)) AS sum,
      any(unit) AS unit FROM usage GROUP BY meter_id ORDER BY meter_id`,
  })
  t.same(lengths, [
    { meter_id: 'H', seconds: 3_600, rows: '3', sum: '6', unit: 'kWh' },
    { meter_id: 'ONE', seconds: 900, rows: '1', sum: '0.005', unit: 'kWh' },
    { meter_id: 'Q', seconds: 900, rows: '4', sum: '4', unit: 'kWh' },
  ])
  const rejects = await story.reader.rows({
    sql: 'SELECT line, code, column_name FROM rejected_row ORDER BY line',
  })
  t.same(
    rejects,
    [9, 10, 11].map((line) => ({ line, code: 'INTERVAL_LENGTH', column_name: 'TimeStamp' })),
  )
})

t.test('a stray time takes its meter out, and the rejects say which meter and why', async (t) => {
  const rows = ['0:00', '0:15', '0:22', '0:30'].map((at) => `A,S,N,7/18/2025 ${at},1`)
  const others = ['0:00', '0:15', '0:30', '0:45'].map((at) => `A,S,R,7/18/2025 ${at},1`)
  const receipt = await story.loadBytes('DEMO_19072025_Electric.csv', text([...rows, ...others]))
  t.match(receipt, {
    status: 'published',
    rows: { accepted: 4, rejected: 4 },
    notes: [
      'meters with rejected rows (INTERVAL_LENGTH): 1; the rejects file names each, and the two lines that show why',
    ],
  })
  const rejects = readFileSync(story.outbox('DEMO_19072025_Electric.csv.rejects.csv'), 'utf8')
  t.match(
    rejects,
    'no length in usage.intervals fits the rows and the stored reads (15 minutes, 60 minutes): lines 3 and 4 of meter N are 7 minutes apart; fix a wrong time, or add the length to the profile',
  )
  t.notMatch(story.logs(), /meter N/)
})

t.test('a single read takes the length that is stored for its meter', async (t) => {
  const row = 'A,S,H,7/16/2025 0:00,1'
  await story.loadBytes('DEMO_17072025_Electric.csv', text([row]))
  const [found] = await story.reader.rows({
    sql: `SELECT seconds FROM usage WHERE meter_id = 'H' AND local_day = '2025-07-16'`,
  })
  t.same(found, { seconds: 3_600 })
})

t.test('daily and hourly reads of one meter are both stored and never added up', async (t) => {
  await story.loadBytes('DEMO_16072025_Gas.csv', text(['A,S,G,7/15/2025,24', 'A,S,G,7/14/2025,20']))
  const hours = Array.from({ length: 24 }, (_, hour) => `A,S,G,7/15/2025 ${hour}:00,1`)
  const receipt = await story.loadBytes('DEMO_16072025_Gas_2.csv', text(hours))
  t.match(receipt, { status: 'published', rows: { accepted: 24 } })
  const days = await story.reader.rows({
    sql: `SELECT toString(local_day) AS day, seconds, toString(quantity) AS quantity, unit,
      intervals_expected AS expected, intervals_present AS present
    FROM usage_day WHERE meter_id = 'G' AND intervals_present > 0 ORDER BY local_day`,
  })
  t.same(days, [
    { day: '2025-07-14', seconds: 86_400, quantity: '20', unit: 'cm', expected: 1, present: 1 },
    { day: '2025-07-15', seconds: 3_600, quantity: '24', unit: 'cm', expected: 24, present: 24 },
  ])
})

t.test('a hundred thousand meters of an unknown length are reported row by row', async (t) => {
  const meters = 100_000
  const rows = Array.from({ length: 2 * meters }, (_, index) => {
    const minute = index % 2 === 0 ? '00' : '05'
    return `A,S,meter-of-five-minutes-${index >> 1},7/20/2025 0:${minute},1`
  })
  const receipt = await story.loadBytes('DEMO_21072025_Electric.csv', text(rows))
  t.match(receipt, {
    status: 'quarantined',
    reason: /TOO_MANY_REJECTED/,
    rows: { read: 2 * meters, rejected: 2 * meters },
  })
  const [rejected] = await story.reader.rows({
    sql: `SELECT count() AS rows FROM rejected_row
      WHERE code = 'INTERVAL_LENGTH' AND line > 1 AND arrival = (SELECT max(arrival) FROM file_load)`,
  })
  t.match(rejected, { rows: String(2 * meters) })
})
