import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import t from 'tap'
import { splitRows } from '../../../pipeline/files/rows.js'
import { judgeRawRow } from '../../../pipeline/usage/row-path.js'
import { sampleFile } from '../../../pipeline/usage/sample.js'
import { toLocalStart } from '../../../pipeline/usage/timestamps.js'
import { formatQuantity } from '../../../schemas/quantity.js'
import { balance } from '../../../schemas/receipt.js'
import { createZone } from '../../../schemas/time/zone.js'
import { sample } from '../../rig/sample.js'
import { createStory, follow, header, storyProfile } from '../../story/rig/stack.js'

const filesCount = sample({ short: 8, long: 160 })
const seed = Date.now() & 0x7fffffff
const long = 'x'.repeat(64)

/** Fields without a quote. */
const bare = {
  id: [
    'A1',
    ' A1',
    'A1\t',
    '',
    '9.1002E+11',
    '9E-11',
    '12E34',
    'A+1',
    'é'.repeat(40),
    `${long}x`,
  ].concat([long, "'A1'", '\\N', 'NULL', 'A\\t1', '\u00a0', 'A 1', '=1', 'a\rb', '\ufeffA', '😀']),
  stamp: ['3/4/2024 0:00', '3/4/2024', '03/04/2024 00:15', '3/4/2024 13:45:00', '3/4/2024 1:45 PM']
    .concat(['2024-03-04T05:00', '2024-03-04 05:00:00', '2024-03-04T05:00:00Z', '2024-03-04'])
    .concat(['2024-03-04T05:00:00+05:30', ' 3/4/2024 0:15 ', '3/31/2024 0:30', '10/27/2024 0:30'])
    .concat(['13/13/2024', '2/30/2024', '3/4/24', '', 'x', '1/1/1970', '12/31/2105 23:59'])
    .concat(['3/4/2024 24:00', '3/4/2024  0:00', '1/1/2106', '3/4/2024 0:00 pm', '0']),
  quantity: ['1.5', '-2', '0', '-0', '.5', '5.', '', '1e3', '+1', '0.1234565', '0.1234575', ' 3 ']
    .concat(['123456789.123456789', '999999999', '999999999.000001', '9999999999', '-999999999'])
    .concat(['000000000001', '00000000000000001.5', '0'.repeat(400), '--1', '-', '.', '- 1', 'NaN'])
    .concat(['Infinity', '1_000', '0x10', '1.0000000', '-0.0000004', '1.2.3', '1-', '٣', '7\t']),
} as const

/** Fields with quotes that stand on one line and match. */
const quoted = {
  id: ['"A1"', '"A,1"', '"A""1"', '""', '" A1 "', '"A1" ', ' "A1"', '"\'"', '"\\N"', '"9.1E+11"'],
  stamp: ['"3/4/2024 0:00"', '"3/4/2024"', '" 3/4/2024 0:15"', '""', '"3/31/2024 0:30"'],
  quantity: ['"7"', '"7.5" ', '" 8 "', '"1,5"', '""', '"-3"', '"0.1234567"', '"1e3"', '"+1"'],
} as const

/** Fields whose quotes do not match, are in unquoted fields, or hold line ends. */
const broken = {
  id: ['"A1', '"A1"x', 'A"1', '6"', '"A\n1"', '"A\r\n1"', '"', '"""', 'A""1', '"A\n\n1"'].concat([
    '"a\rb"',
    '\u00a0"A1"',
    '"A1"\u00a0',
    '\v"A,1"',
    '\ufeff"A1"',
    '\ufeffA1',
  ]),
  stamp: ['"3/4/2024 0:00', '3/4/2024" 0:00', '"3/4/2024\n0:00"', '3/4/2024"'],
  quantity: [
    '"7',
    '7"',
    '"7\n"',
    '"7"8',
    '7""',
    '"7"\r',
    '7\r',
    '7\r\r',
    '"7"\u00a0',
    '\u00a0"7"',
    '\f"7"',
  ],
} as const

/** Fields in which the bytes alone show nothing that needs the fine print. */
const plain = {
  id: [
    '',
    long,
    `${long}x`,
    'é'.repeat(40),
    '9.1002E11',
    '12E34',
    'NULL',
    'A 1',
    '=1',
    'a\rb',
    '😀',
  ],
  stamp: [
    '3/4/2024',
    '2024-03-04T05:00',
    '3/31/2024 0:30',
    '10/27/2024 0:30',
    '13/13/2024',
    'x',
    '',
  ],
  quantity: [
    '-2',
    '0',
    '-0',
    '.5',
    '-.5',
    '999999999',
    '999999998.999999',
    '000000000001',
    '-7.25',
  ],
} as const

const odds = { bare, quoted, broken, plain } as const

type Mode = keyof typeof odds
type Column = keyof typeof bare

const pick = (column: Column, mode: Mode): fc.Arbitrary<string> => {
  const odd = odds[mode][column]
  const usual = mode === 'plain' ? plain[column] : bare[column]
  const good = bare[column][0]
  const decimal = fc
    .tuple(fc.integer({ min: -(10 ** 10), max: 10 ** 10 }), fc.nat(10 ** 9))
    .map(([whole, fraction]) => `${whole}.${fraction}`.slice(0, mode === 'plain' ? 8 : 30))
    .filter((text) => mode !== 'plain' || !text.endsWith('.'))
  return fc.oneof(
    { weight: 6, arbitrary: fc.constant(good ?? '') },
    { weight: 1, arbitrary: fc.constantFrom(...usual) },
    { weight: mode === 'bare' ? 1 : 2, arbitrary: fc.constantFrom(...odd) },
    { weight: column === 'quantity' ? 2 : 0, arbitrary: decimal },
  )
}

/** A row whose meter, `#` here, is its own, so that no accepted row hides another. */
const rowOf = (mode: Mode): fc.Arbitrary<string> => {
  const five = fc
    .tuple(pick('id', mode), pick('id', mode), pick('stamp', mode), pick('quantity', mode))
    .map(([account, site, stamp, quantity]) => [account, site, '#', stamp, quantity].join(','))
  if (mode === 'plain') return five
  const others = ['  ', 'A,S,#,3/4/2024', 'A,S,#,3/4/2024 0:00,1,2', '7']
  const empty = ['', ',', ',,,,', 'A,S,#,3/4/2024 0:00,1,', 'A,S,#,3/4/2024 0:00,"1" , ']
  const quotes = ['""', '"",""']
  const more = { bare: empty, quoted: quotes, broken: [...empty, ...quotes, '"x'] }
  const odd = fc.constantFrom(...others, ...more[mode])
  return fc.oneof({ weight: 12, arbitrary: five }, { weight: 1, arbitrary: odd })
}

const fileOf = (mode: Mode) =>
  fc.record({
    mode: fc.constant(mode),
    feed: fc.constantFrom('Electric' as const, 'Gas' as const),
    rows: fc.array(rowOf(mode), { minLength: 20, maxLength: 80 }),
    end: fc.constantFrom('\n', '\r\n'),
    ended: fc.boolean(),
  })

interface SampleFile {
  readonly name: string
  readonly feed: 'Electric' | 'Gas'
  readonly body: string
  readonly mode: Mode
}

const modes = Object.keys(odds) as readonly Mode[]
const files: readonly SampleFile[] = modes
  .flatMap((mode) => fc.sample(fileOf(mode), { numRuns: filesCount / modes.length, seed }))
  .map(({ mode, feed, rows, end, ended }, index): SampleFile => {
    const own = rows.map((row, at) => row.replaceAll('#', `M${index}-${at}`))
    const early = mode === 'plain' ? [] : [` A,S,N${index},1/1/1970 0:00,1`]
    const last = `A,S,M${index},3/4/2024 0:00,1`
    const whole = [...own, ...early, last].join(end) + (ended ? end : '')
    return { name: `DEMO_05032024_${feed}_${index}.csv`, feed, body: whole, mode }
  })

/** So near to Greenwich that the first instants of 1970 have few digits. */
const timeZone = 'Atlantic/Azores'
const profile = { timeZone, usage: { rejectedShareMax: 1 } }
const story = await createStory({ profile })
t.teardown(story.close)

const { usage, limits } = storyProfile({ profile })
const zone = createZone(timeZone)

/** What the row judge says of every row of a file, in the shape of the store's answers. */
function judged({ feed, body }: SampleFile) {
  const task = sampleFile(
    Buffer.from(body),
    { ...usage, zone },
    feed === 'Gas' ? [86_400, 3_600] : [900, 3_600],
  )
  const format = task.format ?? undefined
  const rules = {
    ...usage,
    ...task,
    format,
    commodity: feed,
    zone,
    rowBytesMax: limits.rowBytesMax,
  }
  const accepted: object[] = []
  const rejected: object[] = []
  let micros = 0n
  for (const { line, raw } of splitRows(Buffer.from(body), 2)) {
    const verdict = judgeRawRow(raw, rules)
    micros += verdict.micros
    if (verdict.outcome === 'rejected') {
      const { column, code, detail } = verdict
      rejected.push({ line, column_name: column, code, detail, raw: raw.slice(0, 1_000) })
    } else {
      const start = verdict.starts[0] as number
      const { localDay, localHour } = toLocalStart(start, { zone })
      accepted.push({
        line,
        meter_id: verdict.meterId,
        account_number: verdict.accountNumber,
        external_site_id: verdict.externalSiteId,
        starts_at: start,
        local_day: localDay,
        local_hour: localHour,
        quantity: formatQuantity(verdict.micros),
      })
    }
  }
  return { accepted, rejected, micros }
}

t.comment(`seed ${seed}, ${files.length} files`)

t.test('the engine and the row judge take every row of every file alike', async (t) => {
  const arrivals: number[] = []
  for (const { name, body } of files) {
    await writeFile(join(story.desk, name), `${header}\n${body}`)
    arrivals.push((await story.submission.submit(join(story.desk, name))).arrival)
  }
  for (const [index, arrival] of arrivals.entries()) {
    const sample = files[index] as SampleFile
    const what = `file ${index} of seed ${seed} (${sample.mode})`
    const receipt = await follow(story.submission, arrival)
    const { accepted, rejected, micros } = judged(sample)
    t.match(
      receipt,
      {
        status: 'published',
        rows: { read: accepted.length + rejected.length, rejected: rejected.length },
        quantity: { read: formatQuantity(micros) },
      },
      what,
    )
    t.ok(balance(receipt), `${what} balances`)
    const stored = await story.store.rows({
      sql: `SELECT toUInt32(bitAnd(version, 4294967295)) AS line, meter_id, account_number,
          external_site_id, toUnixTimestamp(starts_at) AS starts_at, local_day, local_hour,
          toString(quantity) AS quantity
        FROM usage_current WHERE arrival = {arrival:UInt32} ORDER BY version`,
      parameters: { arrival },
    })
    t.same(stored, accepted, `${what}: accepted rows`)
    const refused = await story.store.rows({
      sql: `SELECT line, column_name, code, detail, raw FROM rejected_row
        WHERE arrival = {arrival:UInt32} ORDER BY line`,
      parameters: { arrival },
    })
    t.same(refused, rejected, `${what}: rejected rows`)
  }
})

t.test('all ways of reading a chunk were taken', async (t) => {
  const states = await story.store.rows<{ manifest: string }>({
    sql: 'SELECT manifest FROM file_state FINAL',
  })
  const shapes = states.map((state) => JSON.parse(state.manifest).chunks[0].shape as string)
  t.same([...new Set(shapes)].sort(), ['lines', 'plain', 'quoted', 'unsplittable'])
})
