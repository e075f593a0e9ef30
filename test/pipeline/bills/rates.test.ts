import t from 'tap'
import { readRates } from '../../../pipeline/bills/rates.js'
import { rowsTable } from '../../../pipeline/records/store.js'
import { recordFeedOf } from '../../../schemas/feed.js'
import type { RecordFeed } from '../../../schemas/record-feed.js'
import { statementText } from '../../rig/statements/statement-text.js'
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

t.test('a code that is retired still prices the days that its rates cover', async (t) => {
  await rig.publish({
    RateCodes: ['FLAT,Flat,Flat,,', 'OLD,Old,Flat,,'],
    RateFlat: ['FLAT,0.3,2018-01-01,,', 'OLD,0.2,2018-01-01,2025-12-31,'],
  })
  await rig.publish({ RateCodes: ['FLAT,Renamed,Flat,,', 'NEW,New,Flat,,'] })
  const { book } = await read()
  const codes = [...book.codes].map(([code, { row, isRetired }]) => {
    return [code, row['Description'], isRetired]
  })
  t.same(codes.sort(), [
    ['FLAT', 'Renamed', false],
    ['NEW', 'New', false],
    ['OLD', 'Old', true],
  ])
})

t.test('rates that were read while rows were missing are read again after a repair', async (t) => {
  const flat = async () => (await read()).book.rows('RateFlat', 'FLAT').length
  await rig.publish({ RateFlat: ['FLAT,0.4,2018-01-01,,', 'FLAT,0.1,2018-01-01,,Delivery'] })
  const [last] = await rig.store.rows<{ arrival: number }>({
    sql: 'SELECT max(arrival) AS arrival FROM schedule_version',
  })
  const arrival = last?.arrival ?? 0
  const of = `bitShiftRight(version, 32) = ${arrival} AND component = 'Delivery'`
  const rows = await rig.store.rows<object>({ sql: `SELECT * FROM rate_flat_row WHERE ${of}` })
  const settings = { mutations_sync: 1 }
  await rig.store.command({ sql: `ALTER TABLE rate_flat_row DELETE WHERE ${of}`, settings })
  t.equal(await flat(), 1)
  await rig.store.insert('rate_flat_row', rows)
  const early = new Date(Date.now() - 900_000)
  await rig.repair('RateFlat', arrival, early)
  t.equal(await flat(), 2)
  t.equal((await read()).book, (await read()).book, 'and kept')
  await rig.repair('RateFlat', arrival)
  t.not((await read()).book, (await read()).book, 'but not where a replica may lag')
})

t.test('a set that is published while rates are read is read wholly', async (t) => {
  const publish = (price: string) =>
    rig.publish({
      RateFlat: [`FLAT,${price},2018-01-01,,`],
      RateFixed: [`FLAT,Fee,Service,PerMonth,${price},true,2018-01-01,`],
    })
  await publish('0.6')
  let isPublished = false
  const rows: typeof rig.store.rows = async (statement) => {
    if (statementText(statement).includes('FROM `rate_fixed`') && !isPublished) {
      isPublished = true
      await publish('0.7')
    }
    return rig.store.rows(statement)
  }
  const { book } = await readRates({ ...rig.store, rows }, ['DEMO'])
  const found = (['RateFlat', 'RateFixed'] as const).map((feed) =>
    book.rows(feed, 'FLAT').map(({ row }) => row['Amount']),
  )
  t.same(found, [['0.7'], ['0.7']])
})

t.test('rows that a lagging replica does not show yet are read once they are there', async (t) => {
  const arrival = 90
  const feed = recordFeedOf('RateFlat') as RecordFeed
  const version = { arrival, feed: feed.name, company_code: 'DEMO', first_start: '2018-01-01' }
  const codes = ['', 'FLAT'].map((code) => ({ ...version, code }))
  await rig.store.insert('schedule_version', codes)
  const more = { file_name: 'RateFlat_90.csv', company_code: 'DEMO' }
  await publishFile(rig.store, { arrival, feed: feed.name, publishedAt: new Date(), more })
  t.same(await amounts(), [])
  const row = { rate_code: 'FLAT', amount: '0.5', rate_start_date: '2018-01-01' }
  const at = (BigInt(arrival) << 32n) + 2n
  await rig.store.insert(rowsTable(feed), [{ ...row, version: String(at) }])
  t.same(await amounts(), ['0.5'])
})
