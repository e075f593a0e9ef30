import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { convert, profileWith, type Setting } from './convert.js'
import { goldenFolder } from './samples.js'

const own: Setting = { format: { name: 'green-button' }, timeZone: 'America/Detroit' }
const gas: Setting = {
  ...own,
  format: { name: 'green-button', meter: '{usagePoint}' },
  feed: 'Gas',
}

const reading = (value: string, start = '1772949600', duration = '3600') =>
  `<IntervalReading><timePeriod><duration>${duration}</duration><start>${start}</start></timePeriod><value>${value}</value></IntervalReading>`
const entry = (self: string, content: string, related = '') =>
  `<entry><link rel="self" href="${self}"/>${related}<content>${content}</content></entry>`
const type = (codes: Readonly<Record<string, string | number>>) =>
  entry(
    'ReadingType/1',
    `<ReadingType>${Object.entries(codes)
      .map(([name, code]) => `<${name}>${code}</${name}>`)
      .join('')}</ReadingType>`,
  )
const address = 'UsagePoint/P/MeterReading/1'
const meterReading = entry(address, '<MeterReading/>', '<link rel="related" href="ReadingType/1"/>')
const blockOf = (...readings: readonly string[]) =>
  entry(`${address}/IntervalBlock/1`, `<IntervalBlock>${readings.join('\n')}</IntervalBlock>`)
const feed = (...entries: readonly string[]) => `<feed>\n${entries.join('\n')}\n</feed>\n`
const wattHours = { uom: 72, powerOfTenMultiplier: 0, flowDirection: 1 }
const rowsOf = (plain: string) => plain.split('\n').filter((row) => row !== '')

t.test('a file that is not a feed is refused as a whole', async (t) => {
  const files: Readonly<Record<string, RegExp>> = {
    '': /^EMPTY_FILE/,
    '\uFEFF \n': /^EMPTY_FILE/,
    'meter;value\n1;2\n': /^HEADER: line 1: Non-whitespace before first tag; set usage.format/,
    '<feed></entry>': /^HEADER: line 1: Unexpected close tag; export it/,
    '<feed>\n</feed>\n<feed/>': /^HEADER: line 3: a second element behind the root/,
    '<!DOCTYPE feed [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]>\n<feed>&b;</feed>':
      /^HEADER: line 1: a document type/,
    [`<feed ${'a'.repeat(70_000)}`]: /^HEADER: line 1: Max buffer length exceeded: attribName/,
    ['<a>'.repeat(65)]: /^HEADER: line 1: more than 64 elements inside each other/,
    '<feed>\n<\n>': /^HEADER: line 3: Unencoded </,
  }
  for (const [text, reason] of Object.entries(files)) {
    for (const size of [65_536, 1]) {
      await t.rejects(convert(text, own, size), { message: reason }, text.slice(0, 40))
    }
  }
  const bytes = Buffer.concat([Buffer.from('<feed>\n'), Buffer.from([0xff])])
  await t.rejects(convert(bytes, own), { message: /ENCODING: the bytes from line 1 on/ })
})

t.test('a feed that is cut anywhere is not complete', async (t) => {
  const whole = readFileSync(join(goldenFolder, 'green-button.xml'), 'utf8')
  const end = whole.lastIndexOf('>') + 1
  for (let at = 1; at < end; at += 97) {
    const found = await convert(whole.slice(0, at), own).catch((error: Error) => error)
    t.ok(found instanceof Error ? found.message : found.ending.cut, `${at} characters`)
  }
  t.equal((await convert(whole.slice(0, end), own)).ending.cut, undefined)
})

t.test('units and powers of ten become the stored unit exactly', async (t) => {
  const cases: readonly (readonly [setting: Setting, codes: object, expected: string])[] = [
    [own, { uom: 72, powerOfTenMultiplier: 3 }, '123'],
    [own, { uom: 72, powerOfTenMultiplier: '-6' }, '0.000000123'],
    [own, { uom: 72 }, '0.123'],
    [{ ...own, usage: { unit: { Electric: 'Wh' } } }, { uom: 72 }, '123'],
    [gas, { uom: 119, powerOfTenMultiplier: '-6' }, '0.00000123'],
    [{ ...gas, usage: { unit: { Gas: 'cm' } } }, { uom: 42 }, '123'],
    [
      { ...gas, usage: { unit: { Gas: 'therm' } } },
      { uom: 169, powerOfTenMultiplier: -3 },
      '0.123',
    ],
  ]
  for (const [setting, codes, expected] of cases) {
    const text = feed(meterReading, type({ ...codes, flowDirection: 1 }), blockOf(reading('123')))
    t.equal(rowsOf((await convert(text, setting)).plain)[0]?.split(',')[4], expected)
  }
})

t.test('what cannot be converted is refused, what is of another kind is counted', async (t) => {
  const of = async (setting: Setting, codes: object) => {
    const text = feed(meterReading, type({ ...wattHours, ...codes }), blockOf(reading('123')))
    const { records, ending } = await convert(text, setting)
    return records.find(({ refused }) => refused)?.refused?.detail ?? ending.warnings.join()
  }
  t.match(await of(gas, { uom: 169 }), /therm cannot be converted to ccf/)
  t.match(await of(gas, { uom: 42 }), /cm cannot be converted to ccf/)
  const therms = { ...gas, usage: { unit: { Gas: 'therm' } } }
  t.match(await of(therms, { uom: 119 }), /cubic feet cannot be converted to therm/)
  t.match(await of(therms, { uom: 42 }), /cm cannot be converted to therm/)
  t.match(await of(own, { powerOfTenMultiplier: 40 }), /powerOfTenMultiplier 40 is not a number/)
  t.equal(await of(own, { uom: 42 }), 'intervals of uom 42: not loaded: 1')
  t.equal(await of(gas, {}), 'intervals of uom 72: not loaded: 1')
  t.equal(
    await of(own, { accumulationBehaviour: 3 }),
    'intervals of accumulationBehaviour 3: not loaded: 1',
  )
  t.equal(await of(own, { flowDirection: 20 }), 'intervals of flowDirection 20: not loaded: 1')
})

t.test('readings of an entry without links are not given to the next one', async (t) => {
  const alone = `<entry><content><IntervalBlock>${reading('999')}</IntervalBlock></content></entry>`
  const types = [meterReading, type(wattHours)]
  for (const entries of [
    [...types, alone, blockOf(reading('123'))],
    [alone, ...types, blockOf(reading('123'))],
    [blockOf(reading('123')), alone, ...types],
  ]) {
    const { plain, records } = await convert(feed(...entries), own)
    const values = rowsOf(plain).map((row) => row.split(',')[4])
    t.same(values.filter((value) => value === '0.123').length, 1)
    const refused = records.filter((one) => one.refused !== undefined)
    t.equal(refused.length, 1)
    t.match(refused[0]?.refused?.detail, /no ReadingType/)
    t.equal(records.filter((one) => one.refused === undefined && one.count > 0).length, 1)
  }
})

t.test('generation that is below 0 is refused, never made consumption', async (t) => {
  const types = type({ ...wattHours, flowDirection: 19 })
  const long = { ...own, feed: 'Billing' } as const
  for (const [setting, duration] of [
    [own, '3600'],
    [long, '2592000'],
  ] as const) {
    const block = blockOf(...['-5', '-0', '5'].map((value) => reading(value, undefined, duration)))
    const text = feed(meterReading, types, block)
    const { records, ending } = await convert(text, setting)
    t.same(
      records.map(({ refused, rows }) => refused?.code ?? /,(-?[\d.]+),/.exec(rows)?.[1]),
      ['NEGATIVE', '0', '-0.005'],
    )
    t.match(ending.warnings, [/generation\): loaded as negative: 2/])
    const positive = { ...setting, format: { name: 'green-button', generation: 'positive' } }
    t.match((await convert(text, positive)).plain, /,-0\.005,[\s\S]*,0\.005,/, 'signs as sent')
  }
})

t.test('series of other commodities are counted, whatever their unit is', async (t) => {
  const of = async (setting: Setting, codes: object, service = '') => {
    const kind = service && `<ServiceCategory><kind>${service}</kind></ServiceCategory>`
    const point = entry('UsagePoint/P', `<UsagePoint>${kind}</UsagePoint>`)
    const text = feed(
      point,
      meterReading,
      type({ flowDirection: 1, ...codes }),
      blockOf(reading('5')),
    )
    const { plain, ending } = await convert(text, setting)
    return ending.warnings.join() || rowsOf(plain)[0]?.split(',')[4]
  }
  const months = { ...own, feed: 'Billing' } as const
  const left = (what: string) => `intervals of ${what}: not loaded: 1`
  const cases: readonly (readonly [Setting, object, service: string, found: string])[] = [
    [gas, { uom: 119, commodity: 9 }, '', left('commodity 9')],
    [gas, { uom: 119, commodity: 9 }, '1', left('commodity 9')],
    [gas, { uom: 119, commodity: 1 }, '', left('commodity 1')],
    [gas, { uom: 119, commodity: 7 }, '2', '0.05'],
    [gas, { uom: 119 }, '2', left('a UsagePoint of service 2')],
    [gas, { uom: 119, commodity: 0 }, '1', '0.05'],
    [gas, { uom: 119, commodity: 0 }, '', '0.05'],
    [own, { uom: 72, commodity: 7 }, '', left('commodity 7')],
    [own, { uom: 72, commodity: 12 }, '', left('commodity 12')],
    [own, { uom: 72, commodity: 'x'.repeat(30) }, '', left(`commodity ${'x'.repeat(20)}`)],
    [own, { uom: 72, commodity: 2 }, '', '0.005'],
    [own, { uom: 72 }, '0', '0.005'],
    [own, { uom: 72, commodity: 0 }, '4', left('a UsagePoint of service 4')],
    [months, { uom: 119, commodity: 9 }, '', left('commodity 9').replace('intervals', 'periods')],
  ]
  for (const [setting, codes, service, found] of cases) {
    t.equal(await of(setting, codes, service), found, JSON.stringify([codes, service]))
  }
})

t.test('a reading that states no quality has that of its type', async (t) => {
  const of = async (quality: number, ownQuality: string, setting = own, duration = '3600') => {
    const stated = ownQuality && `<ReadingQuality><quality>${ownQuality}</quality></ReadingQuality>`
    const sent = reading('5', undefined, duration).replace('<value>', `${stated}<value>`)
    const types = type({ ...wattHours, defaultQuality: quality })
    const text = feed(meterReading, types, blockOf(sent))
    const { plain, ending } = await convert(text, setting)
    const place = setting === own ? 6 : -1
    return [rowsOf(plain)[0]?.split(',').at(place), ...ending.warnings]
  }
  const months = { ...own, feed: 'Billing' } as const
  const estimated = 'estimated by the sender: loaded: 1'
  const projected = 'of quality 12 (projected): not loaded: 1'
  t.same(await of(8, ''), ['E', `intervals ${estimated}`])
  t.same(await of(7, ''), ['S', 'intervals substituted by the sender: loaded: 1'])
  t.same(await of(12, ''), [undefined, `intervals ${projected}`])
  t.same(await of(14, ''), [''])
  t.same(await of(8, '0'), [''], 'what a reading states counts')
  t.same(await of(0, '9'), ['E', `intervals ${estimated}`])
  t.same(await of(9, '', months, '2592000'), ['estimated'])
  t.same(await of(7, '', months, '2592000'), ['substituted'])
  t.same(await of(12, '', months, '2592000'), [undefined, `periods ${projected}`])
})

t.test('types may be behind the readings, as far as those fit into memory', async (t) => {
  const one = feed(blockOf(reading('5')), meterReading, type(wattHours))
  t.same(rowsOf((await convert(one, own)).plain), [
    'P,P,P-forward,2026-03-08T06:00:00Z,0.005,3600,',
  ])
  const many = Array.from({ length: 100_001 }, (_, at) => reading('5', String(1_772_949_600 + at)))
  await t.rejects(convert(feed(blockOf(...many), meterReading, type(wattHours)), own), {
    message: /^HEADER: line 100002: too many readings before the ReadingType/,
  })
})

t.test('a long text is passed over, not kept', async (t) => {
  const long = 'x'.repeat(3_000_000)
  const text = feed(
    `<!--${long.slice(0, 1_000)}--><![CDATA[${long}]]>`,
    entry('x', `<other>${long}</other>`),
    meterReading,
    type(wattHours),
    blockOf(reading(long), reading('5')),
  )
  const { plain, records } = await convert(text, own, 1_000)
  t.same(
    rowsOf(plain).map((row) => row.split(',')[4]),
    ['?', '0.005'],
  )
  t.ok(records.every(({ raw }) => raw.length < 200))
})

t.test('100 MB in one element are read in little memory, or refused', async (t) => {
  const before = process.memoryUsage().rss
  let most = 0
  async function* file(start: string, middle: (piece: number) => string, end: string) {
    yield Buffer.from(start)
    for (let piece = 0; piece < 1_600; piece++) {
      yield Buffer.from(middle(piece))
      most = Math.max(most, process.memoryUsage().rss - before)
    }
    yield Buffer.from(end)
  }
  const text = 'x'.repeat(65_536)
  const names = Array.from({ length: 6_000 }, (_, at) => at)
  const [head = '', tail = ''] = feed(meterReading, type(wattHours), blockOf(reading('?'))).split(
    '?',
  )
  const { plain } = await convert(
    file(head, () => text, tail),
    own,
  )
  t.equal(rowsOf(plain)[0]?.split(',')[4], '?')
  const attributes = (piece: number) => names.map((name) => ` a${piece}-${name}=""`).join('')
  await t.rejects(convert(file('<feed', attributes, '></feed>'), own), {
    message: /^HEADER: line 1: a tag of more than 64 KiB/,
  })
  t.ok(most < 300_000_000, `${most} bytes more`)
})

t.test('series of one meter need different names', async (t) => {
  const text = feed(
    meterReading.replaceAll('MeterReading/1', 'MeterReading/2'),
    meterReading,
    type(wattHours),
    blockOf(reading('5')),
    blockOf(reading('6')).replaceAll('MeterReading/1', 'MeterReading/2'),
  )
  const both = await convert(text, {
    ...own,
    format: { name: 'green-button', meter: '{usagePoint}-{meterReading}' },
  })
  t.same(
    rowsOf(both.plain).map((row) => row.split(',')[2]),
    ['P-1', 'P-2'],
  )
  const { records } = await convert(text, own)
  t.match(records[1]?.refused?.detail, /two series would be one meter/)
  for (const meter of ['P', '{usage}', '{usagePoint}-{title}']) {
    t.throws(() => profileWith({ format: { name: 'green-button', meter } }), {
      message: /the marks are|use one of/,
    })
  }
})
