import t from 'tap'
import { idsOf, jobId, parseJob } from '../../../pipeline/queues/jobs.js'

const chunk = {
  chunk: 3,
  line: 2,
  lines: 4,
  rows: 4,
  bytes: 100,
  format: 'lines',
  crc32: 1,
  crlf: false,
  repeats: false,
} as const
const load = { v: 1, arrival: 7, feed: 'Gas', seconds: 86_400, format: 'slashDate', chunk } as const

t.test('an id is derived from what the job does and contains no colon', async (t) => {
  t.equal(jobId('receive', { v: 1, arrival: 7 }), 'receive-7')
  t.equal(jobId('load', load), 'load-7-3')
  t.equal(jobId('poll', { v: 1, source: 'a:b' }), 'poll-a_b')
  t.equal(jobId('sweep', { v: 1 }), 'sweep')
  t.match(jobId('backfill', { v: 1, meterId: '55000001' }), /^backfill-[0-9a-f]{32}$/)
})

t.test('the data of a job is parsed unchanged', async (t) => {
  t.same(parseJob('load', JSON.parse(JSON.stringify(load))), load)
  t.same(parseJob('receive', { v: 1, arrival: 7 }), { v: 1, arrival: 7 })
})

t.test('data of another format, or with any part of a row, is refused', async (t) => {
  const wrong: readonly unknown[] = [
    { ...load, v: 2 },
    { ...load, raw: 'A,S,M,3/4/2024,1' },
    { ...load, chunk: { ...chunk, name: 'x' } },
    { ...load, chunk: { ...chunk, micros: '5' } },
    { ...load, arrival: 0 },
    undefined,
  ]
  for (const data of wrong) t.throws(() => parseJob('load', data), { code: 'CONFIG' })
})

t.test('only ids are read from data of an unknown format', async (t) => {
  t.same(idsOf(load), { arrival: 7, chunk: 3 })
  t.same(idsOf({ v: 9, arrival: 7, chunk: 'A,S,M' }), { arrival: 7, chunk: undefined })
  t.same(idsOf({ arrival: 'A,S,M', chunk }), { arrival: undefined, chunk: 3 })
  for (const data of [undefined, null, 'A,S,M', []]) t.match(idsOf(data), {})
})
