import t from 'tap'
import { countRowsByArrival } from '../../../pipeline/verify/count.js'
import { randomFrom, runs } from '../../rig/sample.js'
import { openStory } from '../../story/rig/stack.js'
import { convert } from '../formats/convert.js'

const quality = {
  column: 'Flag',
  asSent: ['A'],
  estimated: ['E'],
  substituted: ['S'],
  missing: ['N'],
}
const columns = { meter: 'Meter', time: 'Time', quantity: 'Value', quality }
const format = { name: 'csv', columns, clock: '+00:00', interval: 3_600 }
const header = 'Meter,Time,Value,Flag'
const seed = Math.floor(Math.random() * 2 ** 31)

t.test('the quality of a row comes from its column, and each kind is counted', async (t) => {
  const rows = ['A', 'E', 'S', 'N', '', 'X'].map((flag, at) => `M,2026-01-01 0${at}:00,1,${flag}`)
  const { plain, ending } = await convert([header, ...rows, ''].join('\n'), { format })
  t.same(
    plain.split('\n').map((row) => row.split(',').slice(3)),
    [
      [],
      ['2026-01-01T00:00:00Z', '1', '0', ''],
      ['2026-01-01T01:00:00Z', '1', '0', 'E'],
      ['2026-01-01T02:00:00Z', '1', '0', 'S'],
      [],
      ['2026-01-01T04:00:00Z', '1', '0', ''],
      ['2026-01-01T05:00:00Z', '1', '0', ''],
      [],
    ],
  )
  t.same(ending.warnings, [
    'intervals estimated by the sender: loaded: 1',
    'intervals substituted by the sender: loaded: 1',
    'intervals missing by the quality column: not loaded: 1',
    'intervals with quality "X", which the profile does not list: loaded as sent: 1',
  ])
})

t.test('a wide row has one quality for the reads of its day', async (t) => {
  const hours = Array.from({ length: 24 }, (_, at) => `H${at}`)
  const values = { from: 'H0', count: 24 }
  const wide = { meter: 'Meter', time: 'Day', values, quality }
  const setting = { format: { ...format, columns: wide } }
  const text = (flag: string) =>
    `Meter,Day,Flag,${hours}\nM,2026-01-01,${flag},${hours.map((_, at) => (at === 3 ? '' : at))}\n`
  const { plain, ending } = await convert(text('E'), setting)
  const rows = plain.split('\n').filter((row) => row !== '')
  t.same([...new Set(rows.map((row) => row.split(',').slice(5).join()))], ['3600,E'])
  t.equal(rows.length, 23)
  t.same(ending.warnings, [
    'intervals estimated by the sender: loaded: 23',
    'intervals without a value: not loaded: 1',
  ])
  t.equal((await convert(text('N'), setting)).plain, '\n\n')
})

type SentRead = readonly [key: string, quantity: string, flag: string]

interface Sent {
  readonly name: string
  /** A key may be there twice. */
  readonly reads: readonly SentRead[]
}

/** What counts of files in the order of their arrivals. */
function expectedOf(files: readonly Sent[], estimates: 'yield' | 'replace') {
  const found = new Map<string, SentRead>()
  for (const read of files.flatMap(({ reads }) => reads)) {
    const [key, , flag] = read
    const isOutranked = flag === 'E' && (found.get(key)?.[2] ?? 'E') !== 'E'
    if (estimates === 'replace' || !isOutranked) found.set(key, read)
  }
  return [...found.values()].map(([key, value, flag]) => `${key} ${value} ${names[flag]}`).sort()
}

const names: Readonly<Record<string, string>> = {
  A: 'asSent',
  E: 'estimated',
  S: 'substituted',
}

for (const estimates of ['yield', 'replace'] as const) {
  t.test(`estimates ${estimates}, in whatever order files are loaded: seed ${seed}`, async (t) => {
    const random = randomFrom(seed)
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
    const story = await openStory(t, {
      profile: { timeZone: 'UTC', usage: { estimates, format: { Electric: format } } },
    })
    const sent: Sent[] = []
    for (let round = 0; round < runs(2); round++) {
      const files = Array.from({ length: 3 }, (_, at): Sent => {
        const reads = Array.from({ length: 30 }, (): SentRead => {
          const key = `M${pick([1, 2, 3])},2026-01-0${pick([1, 2])} 0${pick([1, 2, 3, 4, 5, 6])}:00`
          return [key, String(pick([1, 2, 3])), pick(['A', 'E', 'E', 'S'])]
        })
        return { name: `DEMO_03012026_Electric_${round * 3 + at}.csv`, reads }
      })
      const text = ({ reads }: Sent) => [header, ...reads.map((read) => read.join()), ''].join('\n')
      const receipts = await story.loadAll(
        Object.fromEntries(files.map((file) => [file.name, text(file)])),
      )
      for (const { status, rows } of receipts) {
        t.equal(status, 'published')
        t.equal(rows.read, rows.accepted + rows.duplicate + rows.superseded)
      }
      sent.push(...files)
    }
    const order = await story.store.rows<{ name: string }>({
      sql: 'SELECT file_name AS name FROM file_state FINAL ORDER BY arrival',
    })
    const files = order.flatMap(({ name }) => sent.filter((one) => one.name === name))
    t.equal(files.length, sent.length)
    const expected = expectedOf(files, estimates)
    const views = ['usage', 'usage_as_of(known_at = now64(3))'] as const
    for (const view of views) {
      const found = await story.reader.rows<{ read: string }>({
        sql: `SELECT concat(meter_id, ',', formatDateTime(starts_at, '%Y-%m-%d %H:%i'), ' ',
          toString(quantity), ' ', quality) AS read FROM ${view} ORDER BY read`,
      })
      t.same(
        found.map(({ read }) => read),
        expected,
        view,
      )
    }
    const [sums] = await story.reader.rows<{ sum: string }>({
      sql: 'SELECT toString(sum(quantity)) AS sum FROM usage_day',
    })
    const total = expected.reduce((sum, read) => sum + Number(read.split(' ')[2]), 0)
    t.equal(Number(sums?.sum), total, 'the days have the same reads')
    t.same((await countRowsByArrival(story.store)).differences, [], 'no row is missing')
  })
}

t.test('a receipt says how many estimates replace no read', async (t) => {
  const story = await openStory(t, { profile: { usage: { format: { Electric: format } } } })
  const file = (...rows: readonly string[]) => [header, ...rows, ''].join('\n')
  await story.loadBytes('DEMO_03012026_Electric_1.csv', file('M,2026-01-01 01:00,1,A'))
  const later = file('M,2026-01-01 01:00,5,E', 'M,2026-01-01 02:00,2,E')
  const receipt = await story.loadBytes('DEMO_03012026_Electric_2.csv', later)
  t.match(receipt.rows, { read: 2, accepted: 1, superseded: 1 })
  t.match(receipt.notes?.join(), /estimates that replace no read: 1;/)
  const actual = file('M,2026-01-01 02:00,2,A')
  const replaced = await story.loadBytes('DEMO_03012026_Electric_3.csv', actual)
  t.match(
    replaced.rows,
    { read: 1, accepted: 1, duplicate: 0 },
    'the same value as sent by the meter',
  )
  const rows = await story.reader.rows({
    sql: 'SELECT toString(quantity) AS quantity, quality FROM usage ORDER BY starts_at',
  })
  t.same(rows, [
    { quantity: '1', quality: 'asSent' },
    { quantity: '2', quality: 'asSent' },
  ])
})

t.test('a file of the plain layout may have a column of qualities', async (t) => {
  const names = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit'
  const rows = ['asSent', 'estimated', 'substituted', '', 'E'].map(
    (text, at) => `A,S,M,3/4/2026 ${at}:00,${at + 1},${text}`,
  )
  const text = [`${names},quality`, ...rows, 'A,S,M,3/4/2026 5:00,6', ''].join('\r\n')
  const formats = { tieline: { name: 'tieline' }, csv: format }
  for (const [name, setting] of Object.entries(formats)) {
    const story = await openStory(t, { profile: { usage: { format: { Electric: setting } } } })
    const receipt = await story.loadBytes('DEMO_05032026_Electric_1.csv', text)
    t.match(receipt.rows, { read: 6, accepted: 5, rejected: 1 })
    const notes = receipt.notes?.join() ?? ''
    t.match(notes, /intervals estimated by the sender: loaded: 1/)
    t.match(notes, /quality "E", which the profile does not list: loaded as sent/)
    t.equal(notes.includes('not as csv'), name === 'csv', notes)
    const reads = await story.reader.rows<{ read: string }>({
      sql: `SELECT concat(toString(quantity), ' ', quality) AS read FROM usage ORDER BY starts_at`,
    })
    t.same(
      reads.map(({ read }) => read),
      ['1 asSent', '2 estimated', '3 substituted', '4 asSent', '5 asSent'],
    )
  }
})

t.test('columns behind the quality are ignored where the profile says so', async (t) => {
  const names = 'AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit,Quality,Flag'
  const rows = [',estimated,x', ',asSent,y'].map((more, at) => `A,S,M,3/4/2026 ${at}:00,1${more}`)
  const text = [names, ...rows, ''].join('\n')
  const story = await openStory(t, { profile: { files: { extraColumns: 'ignore' } } })
  const { notes } = await story.loadBytes('DEMO_05032026_Electric_1.csv', text)
  t.match(notes?.join(), /columns ignored \(files.extraColumns\): "Flag"/)
  t.match(notes?.join(), /intervals estimated by the sender: loaded: 1/)
})
