/**
 * # 4.5 A correction of a few reads
 *
 * What: A file with a few reads of a meter replaces exactly those reads, however far apart they are.
 * Why: A correction that is stored beside the value it corrects counts energy twice.
 * Try: Load a day of 15-minute reads, then two reads that are an hour apart, and sum the day.
 */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t)
const text = (rows: readonly string[]) => `${[header, ...rows].join('\n')}\n`
const clock = (minutes: number) =>
  `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`
const dayOf = (meter: string, date: string, minutes: number) =>
  Array.from(
    { length: 1_440 / minutes },
    (_, slot) => `A,S,${meter},${date} ${clock(slot * minutes)},1`,
  )
const sums = (meter: string) =>
  story.reader.rows<{ day: string; seconds: number; sum: string; rows: string }>({
    sql: `SELECT toString(local_day) AS day, seconds, toString(sum(quantity)) AS sum, count() AS rows
      FROM usage WHERE meter_id = {meter:String} GROUP BY local_day, seconds ORDER BY local_day, seconds`,
    parameters: { meter },
  })

await story.loadBytes(
  'DEMO_16072025_Electric.csv',
  text([...dayOf('Q', '7/15/2025', 15), ...dayOf('H', '7/15/2025', 60)]),
)

let file = 1
const correct = (feed: string, rows: readonly string[]) =>
  story.loadBytes(`DEMO_17072025_${feed}_${++file}.csv`, text(rows))

t.test('two reads replace what they correct, however far apart they are', async (t) => {
  for (const [at, minutes] of [30, 60, 120, 360].entries()) {
    const value = 2 + at
    const rows = [0, minutes].map((time) => `A,S,Q,7/15/2025 ${clock(time)},${value}`)
    const receipt = await correct('Electric', rows)
    t.match(receipt, { status: 'published', rows: { accepted: 2, rejected: 0 } }, `${minutes}`)
    t.equal(receipt.restated?.rows, 2)
    t.notMatch(receipt.notes ?? [], [/interval length/])
  }
  const sum = String(96 + 1 + 2 + 3 + 4 + 4)
  t.same(await sums('Q'), [{ day: '2025-07-15', seconds: 900, sum, rows: '96' }])
})

t.test('a correction of an hourly meter replaces it', async (t) => {
  await correct('Electric', ['A,S,H,7/15/2025 3:00,9', 'A,S,H,7/15/2025 9:00,9'])
  t.same(await sums('H'), [{ day: '2025-07-15', seconds: 3_600, sum: '40', rows: '24' }])
})

t.test('bare dates are days, however far apart they are', async (t) => {
  const days = Array.from({ length: 9 }, (_, day) => `A,S,G,7/${day + 1}/2025,10`)
  await correct('Gas', days)
  const receipt = await correct(
    'Gas',
    [1, 4, 7].map((day) => `A,S,G,7/${day}/2025,20`),
  )
  t.match(receipt, {
    status: 'published',
    rows: { accepted: 3, rejected: 0 },
    restated: { rows: 3 },
  })
  const stored = await sums('G')
  t.equal(stored.length, 9)
  t.equal(
    stored.reduce((sum, row) => sum + Number(row.sum), 0),
    120,
  )
})

t.test(
  'three reads in succession at another length are rejected, and both are named',
  async (t) => {
    const receipt = await correct('Electric', [
      ...['0:00', '1:00', '2:00'].map((at) => `A,S,Q,7/15/2025 ${at},7`),
      ...['4:00', '6:00', '11:00', '14:00'].map((at) => `A,S,H,7/15/2025 ${at},9`),
    ])
    t.match(receipt, { status: 'published', rows: { accepted: 4, rejected: 3 } })
    const rejects = readFileSync(
      story.outbox(`DEMO_17072025_Electric_${file}.csv.rejects.csv`),
      'utf8',
    )
    t.match(
      rejects,
      'lines 2 and 3 of meter Q are 60 minutes apart, but its stored reads are 15 minutes long; send whole days to change the length, or fewer than three such rows in succession to correct reads',
    )
    t.match(await sums('Q'), [{ seconds: 900, rows: '96' }])
  },
)

t.test('reads that fill a day have their length, whatever is stored', async (t) => {
  const receipt = await correct('Electric', dayOf('Q', '7/16/2025', 60))
  t.match(receipt, {
    status: 'published',
    rows: { accepted: 24 },
    notes: [/^meters with a new interval length: 1;/],
  })
  await correct('Electric', ['A,S,Q,7/16/2025 5:00,3', 'A,S,Q,7/16/2025 9:00,3'])
  t.match((await sums('Q'))[1], { day: '2025-07-16', seconds: 3_600, sum: '28', rows: '24' })
})

t.test('a file with a full day and corrections of an earlier day treats each alone', async (t) => {
  const receipt = await correct('Electric', [
    ...dayOf('Q', '7/17/2025', 60),
    ...['6:00', '8:15'].map((at) => `A,S,Q,7/15/2025 ${at},2`),
  ])
  t.match(receipt, { rows: { accepted: 26 }, restated: { rows: 2 } })
  t.match((await sums('Q'))[0], { seconds: 900, rows: '96' })
})
