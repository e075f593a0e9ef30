import t from 'tap'
import { listDueFiles } from '../../../infra/alerts/expected.js'
import type { ExpectedFile } from '../../../schemas/settings/alert.js'
import { createZone } from '../../../schemas/time/zone.js'

const zone = createZone('America/Detroit')
const daily: ExpectedFile = {
  company: 'DEMO',
  feed: 'Electric',
  by: '06:00',
  days: ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'],
  daysBack: 0,
}
const dates = (expected: ExpectedFile, now: string) =>
  listDueFiles(expected, { zone, now: new Date(now) }).map(({ fileDate }) => fileDate)
const latestAt = (expected: ExpectedFile, now: string) =>
  listDueFiles(expected, { zone, now: new Date(now) })[0]?.dueAt.toISOString()

t.test("a file is due at its local time in the meters' zone", async (t) => {
  t.equal(dates(daily, '2026-01-15T10:59:59Z')[0], '2026-01-14')
  t.equal(dates(daily, '2026-01-15T11:00:00Z')[0], '2026-01-15')
  t.equal(dates(daily, '2026-07-15T10:00:00Z')[0], '2026-07-15', 'at another UTC time in summer')
  t.equal(
    dates(daily, '2026-01-16T03:00:00Z')[0],
    '2026-01-15',
    'by the local date, not the UTC date',
  )
})

t.test('a file is due only on its days, dated daysBack days earlier', async (t) => {
  const workdays: ExpectedFile = { ...daily, days: ['Mon', 'Fri'], daysBack: 1 }
  t.same(dates(workdays, '2026-01-18T12:00:00Z').slice(0, 3), [
    '2026-01-15',
    '2026-01-11',
    '2026-01-08',
  ])
})

t.test('a skipped local time is an hour later, a repeated one counts the first time', async (t) => {
  const early: ExpectedFile = { ...daily, by: '02:30' }
  t.equal(latestAt(early, '2026-03-08T12:00:00Z'), '2026-03-08T07:30:00.000Z')
  t.equal(latestAt(daily, '2026-03-08T12:00:00Z'), '2026-03-08T10:00:00.000Z')
  const repeated: ExpectedFile = { ...daily, by: '01:30' }
  t.equal(latestAt(repeated, '2026-11-01T12:00:00Z'), '2026-11-01T05:30:00.000Z')
})

t.test('missing files are counted at most 31 days back', async (t) => {
  t.equal(dates(daily, '2026-01-15T12:00:00Z').length, 31)
})
