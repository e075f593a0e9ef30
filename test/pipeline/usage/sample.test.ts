import t from 'tap'
import { sampleFile, toLength } from '../../../pipeline/usage/sample.js'
import { explainTimestamp } from '../../../pipeline/usage/timestamps.js'
import { createZone } from '../../../schemas/time/zone.js'

const rules = {
  zone: createZone('America/Detroit'),
  dateOrder: 'MDY',
  stamp: 'start',
  clock: 'wall',
} as const
const sample = (stamps: readonly string[], lengths = [900, 3_600]) =>
  sampleFile(
    Buffer.from(stamps.map((stamp, index) => `A,S,M${index % 2},${stamp},1\n`).join('')),
    rules,
    { lengths },
  )

t.test('the smallest gap of one meter is the length of a file', async (t) => {
  const hourly = ['3/4/2024 0:00', '3/4/2024 0:15', '3/4/2024 1:00', '3/4/2024 1:15']
  t.same(sample(hourly), { format: 'slashMinutes', seconds: 3_600 }, 'not that between two meters')
  const quarters = ['3/4/2024 0:00', '3/4/2024 0:00', '3/4/2024 0:15', '3/4/2024 5:00']
  t.equal(sample(quarters).seconds, 900)
})

t.test('dates alone are days, and a gap that is not a length is not taken', async (t) => {
  t.same(sample(['3/4/2024', '3/4/2024']), { format: 'slashDate', seconds: 86_400 })
  t.equal(sample(['3/4/2024 0:00', 'x', '3/4/2024 0:07', 'x']).seconds, 900)
})

t.test('a sample that shows nothing gets the first length of the profile', async (t) => {
  t.same(sample(['x', 'y'], [3_600]), { format: null, seconds: 3_600 })
  t.same(sample([], [3_600]), { format: null, seconds: 3_600 })
})

t.test('days of 23 and 25 hours are days', async (t) => {
  for (const hours of [23, 24, 25]) t.equal(toLength(hours * 3_600), 86_400)
  t.equal(toLength(3_600), 3_600)
  t.equal(toLength(172_800), 172_800)
})

t.test('a stamp is an instant, a local day and an hour; none where it is rejected', async (t) => {
  const minutes = { ...rules, format: 'slashMinutes', seconds: 3_600 } as const
  t.match(explainTimestamp('7/4/2024 13:45', minutes)?.first, {
    startsAt: Date.UTC(2024, 6, 4, 17, 45) / 1_000,
    localDay: '2024-07-04',
    localHour: 13,
  })
  const repeated = explainTimestamp('11/3/2024 1:30', minutes)
  t.equal((repeated?.second?.startsAt ?? 0) - (repeated?.first.startsAt ?? 0), 3_600)
  t.equal(explainTimestamp('3/10/2024 2:30', minutes), undefined, 'the clock skips it')
  t.equal(explainTimestamp('x', minutes), undefined)
})
