import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { findUsage, writeFeed } from '../../../pipeline/green-button/feed.js'
import { shareAll } from '../../../pipeline/green-button/share.js'
import { publishChanges } from '../../../pipeline/ledger/announced.js'
import { sql } from '../../../pipeline/store/sql.js'
import { windowOf } from '../../../schemas/gateway/connect.js'
import { type EspiScope, readEspiScope } from '../../../schemas/gateway/espi-scope.js'
import { createFolder } from '../../rig/folder.js'
import { steady, timeZone } from '../bills/rig.js'
import { customerAt } from '../customers/registering.js'
import { convert } from '../formats/convert.js'
import { isThere, schemaErrors } from './judge.js'
import { contextOf, createCustomer, feedOf, january } from './rig.js'

t.comment(isThere ? 'with the published schema' : 'without the published schema')

const rig = await createCustomer(t)
const folder = createFolder(t)
const { store } = rig
const context = contextOf(store)
const errorsOf = (feed: string) => (isThere ? schemaErrors(folder, feed) : '')
const entriesOf = (feed: string, resource: string) =>
  feed.match(new RegExp(`<entry>(?:(?!</entry>).)*<${resource}[ /](?:(?!</entry>).)*`, 'g')) ?? []
const count = (text: string, pattern: RegExp) => text.match(pattern)?.length ?? 0

const feed = await feedOf(store, january)

t.test('a feed has every meter of the customer, each read once, day by day', async (t) => {
  t.equal(errorsOf(feed), '')
  t.equal(entriesOf(feed, 'UsagePoint').length, 3)
  t.equal(entriesOf(feed, 'LocalTimeParameters').length, 1)
  t.equal(entriesOf(feed, 'IntervalBlock').length, 3 * 31)
  t.equal(count(feed, /<IntervalReading>/g), 2 * 2_976 + 31)
  t.match(feed, '<interval><duration>86400</duration><start>1767243600</start></interval>')
  t.notOk(/ACCOUNT-1|anna|HOUSE|SOLAR/.test(feed), 'no number of a person, an account or a meter')
})

t.test('a feed that is read back has the same reads', async (t) => {
  for (const commodity of ['Electric', 'Gas'] as const) {
    const setting = { format: { name: 'green-button' }, timeZone, feed: commodity }
    const { plain, ending } = await convert(feed, setting)
    const found = plain.split('\n').filter((row) => row !== '')
    const stored = await store.rows<{ readonly read: string }>({
      sql: sql`SELECT concat(formatDateTime(starts_at, '%FT%TZ', 'UTC'), ',', toString(quantity), ',',
          toString(seconds)) AS read FROM usage WHERE commodity = ${commodity}`,
    })
    const reads = found.map((row) => row.split(',').slice(3, 6).join())
    t.same(reads.sort(), stored.map(({ read }) => read).sort(), commodity)
    t.equal(ending.cut, undefined)
  }
})

t.test('the type of each reading has its unit, its length and its direction', async (t) => {
  const types = entriesOf(feed, 'ReadingType').join('\n')
  for (const [direction, length, uom, multiplier] of [
    [1, 86_400, 119, -6],
    [1, 900, 72, -3],
    [4, 900, 72, -3],
  ]) {
    t.match(
      types,
      new RegExp(
        `<flowDirection>${direction}<.*<intervalLength>${length}<.*<powerOfTenMultiplier>${multiplier}<.*<uom>${uom}<`,
      ),
    )
  }
  t.match(feed, '<value>250000</value>', 'a quarter of a kWh in thousandths of a Wh')
  t.match(feed, '<value>-1250000</value>', 'what was generated')
  t.match(feed, '<value>200000100</value>', '2.000001 ccf in millionths of a cubic foot')
})

t.test('a summary has what was billed, or else what was computed', async (t) => {
  const summaries = entriesOf(feed, 'UsageSummary')
  t.equal(summaries.length, 3)
  const of = (code: string) => summaries.filter((one) => one.includes(code)).join()
  const billed = of('<qualityOfReading>19<')
  t.match(billed, '<billLastPeriod>8290000</billLastPeriod>')
  t.match(billed, '<costAdditionalLastPeriod>850000</costAdditionalLastPeriod>')
  t.match(billed, '<duration>2678400</duration><start>1767243600</start>', '31 days')
  t.match(billed, '<value>744000000</value>')
  const gas = of('<commodity>7<')
  t.match(gas, '<billLastPeriod>5580000</billLastPeriod>', '62 ccf at 90 cents')
  t.match(gas, '<value>6200003100</value>')
  t.match(gas, '<qualityOfReading>11<')
})

t.test('intervals cost what was computed, and details add up to what is additional', async (t) => {
  const costs = [...feed.matchAll(/<cost>(-?\d+)<\/cost>/g)].map(([, cost]) => BigInt(cost ?? ''))
  t.equal(costs.length, 2 * 2_976 + 31, 'each interval has a cost')
  const totals = [...feed.matchAll(/<billLastPeriod>(\d+)</g)].map(([, total]) =>
    BigInt(total ?? ''),
  )
  const sum = (all: readonly bigint[]) => all.reduce((a, b) => a + b, 0n)
  // Costs are rounded by day, to a hundred-thousandth of a dollar.
  const off = sum(costs) - sum(totals)
  t.ok(off > -50n && off < 50n, `${off} of ${sum(totals)}`)
  const [house = ''] = entriesOf(feed, 'UsageSummary').filter((one) => one.includes('>19<'))
  const line =
    '<costAdditionalDetailLastPeriod><amount>850000</amount><note>Service charge</note><itemKind>4</itemKind></costAdditionalDetailLastPeriod>'
  t.match(house, `<costAdditionalLastPeriod>850000</costAdditionalLastPeriod>${line}<currency>`)
})

t.test('the same feed has the same ids, another customer has others', async (t) => {
  const ids = (text: string) => [...text.matchAll(/<id>([^<]*)/g)].map(([, id]) => id)
  t.equal(await feedOf(store, january), feed)
  t.equal(new Set(ids(feed)).size, ids(feed).length, 'each id is there once')
  await rig.register(customerAt({ clientId: 'ben', accountNumber: 'AB', meterId: 'B' }))
  await rig.read({ meter: 'B', account: 'AB', from: '2026-01-01T05:00:00Z', quantities: ['1'] })
  const other = ids(await feedOf(store, { ...january, clientId: 'ben' }))
  const shared = other.filter((id) => ids(feed).includes(id))
  t.equal(shared.length, 1, 'only the clock is shared')
})

t.test('reads of nobody and of another customer are not in the feed', async (t) => {
  const [from, account] = ['2026-01-02T05:00:00Z', 'STRANGER']
  await rig.read({ meter: 'B', account, from, quantities: ['77'] })
  await rig.register(customerAt({ clientId: 'cara', accountNumber: 'CARA', meterId: 'B' }))
  const later = '2026-01-03T05:00:00Z'
  await rig.read({ meter: 'B', account: 'CARA', from: later, quantities: ['88'] })
  const next = await feedOf(store, { ...january, clientId: 'cara' })
  t.match(next, '<value>88000000</value>')
  const found = await feedOf(store, { ...january, clientId: 'ben' })
  t.equal(count(found, /<IntervalReading>/g), 1)
  t.notMatch(found, '<value>77000000</value>')
})

t.test('reads of an exchanged meter are there, though no record lists it', async (t) => {
  const [account, from] = ['DORA', '2026-01-04T05:00:00Z']
  await rig.read({ meter: 'OLD', account, from, quantities: ['5'] })
  await rig.read({ meter: 'NEW', account, from: '2026-01-05T05:00:00Z', quantities: ['6'] })
  await rig.register(customerAt({ clientId: 'dora', accountNumber: account, meterId: 'NEW' }))
  const found = await feedOf(store, { ...january, clientId: 'dora' })
  t.equal(entriesOf(found, 'UsagePoint').length, 2)
  t.match(found, /<value>5000000<.*<value>6000000<|<value>6000000<.*<value>5000000</s)
})

t.test(
  'both hours of a clock change are there, and a daily read has the hours of its day',
  async (t) => {
    const customer = { clientId: 'clock', accountNumber: 'AC' }
    const quarters = customerAt({ ...customer, meterId: 'QUARTERS' })
    const days = customerAt({ ...customer, meterId: 'DAYS' })
    await rig.register({ ...quarters, meters: [...quarters.meters, ...days.meters] })
    const account = 'AC'
    // 100 quarter hours of 25 hours, 92 of 23.
    const autumn = '2025-11-02T04:00:00Z'
    const spring = '2026-03-08T05:00:00Z'
    await rig.read({ meter: 'QUARTERS', account, from: autumn, quantities: steady('1', 100) })
    await rig.read({ meter: 'QUARTERS', account, from: spring, quantities: steady('1', 92) })
    await rig.read({ meter: 'DAYS', account, from: autumn, seconds: 86_400, quantities: ['25'] })
    await rig.read({ meter: 'DAYS', account, from: spring, seconds: 86_400, quantities: ['23'] })
    for (const [day, seconds, reads] of [
      ['2025-11-02', 90_000, 100],
      ['2026-03-08', 82_800, 92],
    ] as const) {
      const found = await feedOf(store, { clientId: 'clock', from: day, to: day })
      t.equal(errorsOf(found), '')
      t.equal(count(found, /<IntervalReading>/g), reads + 1)
      const starts = [...found.matchAll(/<duration>900<\/duration><start>(\d+)</g)].map(
        ([, at]) => at,
      )
      t.equal(new Set(starts).size, reads, 'each start is there once')
      t.equal(
        count(found, new RegExp(`<duration>${seconds}</duration>`, 'g')),
        3,
        'both blocks and the daily read have the length of the day',
      )
    }
  },
)

t.test('a gap is left out, and a block begins with its first read', async (t) => {
  await rig.register(customerAt({ clientId: 'gap', accountNumber: 'AG', meterId: 'G' }))
  const account = 'AG'
  const first = Date.parse('2026-01-05T06:00:00Z') / 1_000
  for (const at of [0, 7_200]) {
    const from = new Date((first + at) * 1_000).toISOString()
    await rig.read({ meter: 'G', account, from, quantities: ['1', '1'] })
  }
  const found = await feedOf(store, { ...january, clientId: 'gap' })
  t.equal(errorsOf(found), '')
  t.equal(count(found, /<IntervalReading>/g), 4)
  t.match(found, `<interval><duration>9000</duration><start>${first}</start></interval>`)
})

t.test('only days of the range are in the feed', async (t) => {
  const found = await feedOf(store, { clientId: 'anna', from: '2026-01-10', to: '2026-01-11' })
  t.equal(entriesOf(found, 'IntervalBlock').length, 3 * 2)
  t.equal(entriesOf(found, 'UsageSummary').length, 3, 'with the bills that have a day in it')
  const century = await feedOf(store, { clientId: 'anna', from: '1971-01-01', to: '2071-01-01' })
  t.equal(entriesOf(century, 'IntervalBlock').length, 3 * 31)
})

t.test('what cannot be written is refused with the reason', async (t) => {
  const refuses = (wanted: object, reason: RegExp) =>
    t.rejects(feedOf(store, { ...january, ...wanted }), { message: reason })
  await refuses({ from: '2026-02-01' }, /--from 2026-02-01 is after --to 2026-01-31/)
  await refuses({ from: '2026-02-30' }, /--from 2026-02-30 is not a day .*; write YYYY-MM-DD/)
  await refuses({ to: '01/31/2026' }, /--to 01\/31\/2026 is not a day/)
  await refuses(
    { from: '1900-01-01' },
    /--from 1900-01-01 is not a day between 1970-01-02 and 2105-12-31/,
  )
  await refuses({ clientId: 'nobody' }, /client nobody is not registered/)
  const march = { from: '2026-03-01', to: '2026-03-31' }
  await refuses(march, /client anna has no reads from 2026-03-01 to 2026-03-31/)
})

t.test('a bill that was billed otherwise leaves intervals without costs', async (t) => {
  const at = { clientId: 'dora', accountNumber: 'AD', meterId: 'D', rateCode: 'TAXED' }
  await rig.register(customerAt(at))
  await rig.read({ meter: 'D', from: '2026-01-01T05:00:00Z', quantities: steady('0.25', 2_976) })
  const ids = new Set<string | undefined>()
  const costs = async () => {
    await rig.bill({ start: '2026-01-01' })
    const found = await feedOf(store, { ...january, clientId: 'dora' })
    t.equal(errorsOf(found), '')
    const [summary = ''] = entriesOf(found, 'UsageSummary')
    ids.add(/<id>([^<]*)/.exec(summary)?.[1])
    return count(found, /<cost>/g)
  }
  t.equal(await costs(), 2_976)
  await rig.publish({ Billing: ['AD,S,D,2026-01-02,2026-01-31,744,744,70,,'] })
  t.equal(await costs(), 0)
  t.equal(ids.size, 1, 'and is the same resource')
})

t.test('a period with two documents has the lines of both', async (t) => {
  const at = { clientId: 'emma', accountNumber: 'AE', meterId: 'E', rateCode: 'TAXED' }
  await rig.register(customerAt(at))
  await rig.read({ meter: 'E', from: '2026-01-01T05:00:00Z', quantities: steady('0.25', 2_976) })
  const lines = ['2026-01-01,1,Energy,Energy,360,0.1,36', '2026-01-01,2,Fixed,Service,,,4.25']
  const rest = ['2026-01-16,1,Energy,Energy,384,0.1,38.4', '2026-01-16,2,Fixed,Service,,,4.25']
  await rig.publish({
    Billing: [
      'AE,S,E,2026-01-01,2026-01-15,360,360,40.25,,,D1',
      'AE,S,E,2026-01-16,2026-01-31,384,384,42.65,,,D2',
    ],
    BillingLines: lines.map((line) => `AE,E,${line}`),
  })
  const additional = async () => {
    await rig.bill({ start: '2026-01-01' })
    const found = await feedOf(store, { ...january, clientId: 'emma' })
    t.equal(errorsOf(found), '')
    t.match(found, '<billLastPeriod>8290000</billLastPeriod>')
    return /<costAdditionalLastPeriod>(\d+)</.exec(found)?.[1]
  }
  t.equal(await additional(), undefined, 'the lines of one of them are unknown')
  await rig.publish({ BillingLines: rest.map((line) => `AE,E,${line}`) })
  t.equal(await additional(), '850000')
})

t.test('a block is updated by its costs, and by reads that come or go with an owner', async (t) => {
  const at = { clientId: 'finn', accountNumber: 'AF', meterId: 'F', rateCode: 'TAXED' }
  await rig.register(customerAt(at))
  await rig.read({ meter: 'F', from: '2026-01-01T05:00:00Z', quantities: steady('0.25', 2_976) })
  const wanted = { ...january, clientId: 'finn' }
  /** The days of the blocks that something updates, with all that there is, or without costs. */
  const updatedBy = async (change: () => Promise<unknown>, scope?: EspiScope) => {
    await setTimeout(1_000) // Instants of a feed are whole seconds.
    const from = new Date(Math.floor(Date.now() / 1_000) * 1_000).toISOString()
    await change()
    const share = { ...shareAll(['', 'finn'], wanted), window: windowOf({ 'updated-min': from }) }
    const shared = scope === undefined ? share : { ...share, scope }
    let text = ''
    for await (const piece of writeFeed(context, await findUsage(context, wanted, shared)))
      text += piece
    return entriesOf(text, 'IntervalBlock').map((one) => /Usage of ([\d-]+)/.exec(one)?.[1])
  }
  const bill = () => rig.bill({ start: '2026-01-01' })
  t.equal((await updatedBy(bill)).length, 31)
  t.same(await updatedBy(bill, readEspiScope('FB=3_4_16')), [], 'costs are not shared')
  await rig.publish({ Billing: ['AF,S,F,2026-01-01,2026-01-31,744,744,70,,'] })
  t.equal((await updatedBy(bill)).length, 31, 'the costs go')
  const announce = async (cause: string, day: string, client_ids_before: readonly string[]) => {
    const change = String(2n ** 40n + BigInt(Date.now()))
    const days = { local_day: day, last_local_day: day, client_ids_before }
    await store.insert('usage_change_row', [{ meter_id: 'F', ...days, cause, change }])
    await publishChanges({ store, now: () => new Date() }, [change])
  }
  t.same(await updatedBy(() => announce('read', '2026-01-10', ['finn'])), ['2026-01-10'])
  t.same(await updatedBy(() => announce('read', '2026-01-11', ['other'])), [])
  t.same(await updatedBy(() => announce('erasure', '2026-01-12', [])), [])
})
