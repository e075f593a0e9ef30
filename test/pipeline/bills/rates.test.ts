import t from 'tap'
import { readRates } from '../../../pipeline/bills/rates.js'
import { rowsTable } from '../../../pipeline/records/store.js'
import { recordFeedOf } from '../../../schemas/feed.js'
import type { RecordFeed } from '../../../schemas/record-feed.js'
import { publishFile } from '../customers/registering.js'
import { billRig } from './rig.js'

const rig = await billRig(t)
const read = () => readRates(rig.store, ['DEMO'])
const amounts = async () =>
  (await read()).book.rows('RateFlat', 'FLAT').map(({ row }) => row['Amount'])

t.test('rates are kept until a schedule is published', async (t) => {
  await rig.publish({
    RateCodes: ['FLAT,Flat,Flat,,'],
    RateFlat: ['FLAT,0.1,2018-01-01,,'],
  })
  const first = await read()
  t.equal((await read()).book, first.book)
  t.same(await amounts(), ['0.1'])
  await rig.publish({ RateFlat: ['FLAT,0.3,2018-01-01,,'] })
  t.same(await amounts(), ['0.3'])
  t.same((await readRates(rig.store, ['OTHER'])).book.codes.size, 0)
  t.same(await amounts(), ['0.3'])
})

t.test('rows that a lagging replica does not show yet are read once they are there', async (t) => {
  const arrival = 90
  const feed = recordFeedOf('RateFlat') as RecordFeed
  const version = { arrival, feed: feed.name, company_code: 'DEMO', first_start: '2018-01-01' }
  await rig.store.insert('schedule_version', [version])
  const more = { file_name: 'RateFlat_90.csv', company_code: 'DEMO' }
  await publishFile(rig.store, { arrival, feed: feed.name, publishedAt: new Date(), more })
  t.same(await amounts(), [])
  const row = { rate_code: 'FLAT', amount: '0.5', rate_start_date: '2018-01-01' }
  const at = (BigInt(arrival) << 32n) + 2n
  await rig.store.insert(rowsTable(feed), [{ ...row, version: String(at) }])
  t.same(await amounts(), ['0.5'])
})
