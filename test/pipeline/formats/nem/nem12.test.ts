import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../../../infra/package-root.js'
import { addQuantities } from '../../../../pipeline/ledger/sums.js'
import { convert, profileWith } from '../convert.js'

const format = { name: 'nem12' }
const day = (values: number, of: (at: number) => string = () => '1') =>
  Array.from({ length: values }, (_, at) => of(at)).join(',')
const block = (...lines: readonly string[]) =>
  ['100,NEM12,202603020930,A,B', '200,NMI1,E1,E1,E1,N1,M1,kWh,30,', ...lines, '900', ''].join('\n')

const rowsOf = (plain: string) => plain.split('\n').filter((row) => row !== '')
const total = (plain: string) =>
  addQuantities(...rowsOf(plain).map((row) => (row.split(',')[4] ?? '').replace(/^(-?)\./, '$10.')))

t.test('a record that does not fit is refused with its line and the reason', async (t) => {
  const cases: Readonly<Record<string, readonly [text: string, line: number, reason: RegExp]>> = {
    'too few values': [block(`300,20260301,${day(47)},A`), 3, /need 48 values, found 47/],
    'too many values': [block(`300,20260301,${day(96)},A`), 3, /need 48 values, found 96/],
    'no quality': [block(`300,20260301,${day(48)}`), 3, /none with a quality method/],
    'a quality that does not exist': [block(`300,20260301,${day(48)},X`), 3, /"X" is not one of/],
    'a day that does not exist': [block(`300,20260230,${day(48)},A`), 3, /not a day YYYYMMDD/],
    'varying quality without 400': [block(`300,20260301,${day(48)},V`), 3, /no 400 record follows/],
    'a gap between 400 records': [
      block(`300,20260301,${day(48)},V`, '400,1,20,A', '400,22,48,A'),
      3,
      /line 5 is about intervals 22 to 48, expected 21/,
    ],
    '400 records behind the day': [
      block(`300,20260301,${day(48)},V`, '400,1,96,A'),
      3,
      /intervals 1 to 96, expected 1 to at most 48/,
    ],
    '400 records that end early': [
      block(`300,20260301,${day(48)},V`, '400,1,24,A'),
      3,
      /end with interval 24 of 48/,
    ],
    'a 400 record alone': [block('400,1,48,A'), 3, /not a 100, 200, 300/],
    'another record': [block('250,NMI1'), 3, /not a 100, 200, 300/],
    'a unit that is not energy': [
      block('200,NMI1,E1,E1,E1,N1,M1,litre,30,', `300,20260301,${day(48)},A`),
      3,
      /UOM of register E1 .* found "litre"/,
    ],
    'identifiers in quotes, which NEM12 does not have': [
      block('200,"NMI1",E1,"E1",E1,N1,M1,kWh,30,', `300,20260301,${day(48)},A`),
      3,
      /NMI, suffix and serial number must not have quotes/,
    ],
    'a length that does not divide an hour': [
      block('200,NMI1,E1,E1,E1,N1,M1,kWh,7,'),
      3,
      /IntervalLength must be minutes that divide an hour, found "7"/,
    ],
    'a record behind the end': [
      `${block()}300,20260301,${day(48)},A\n`,
      4,
      /behind the 900 record/,
    ],
    'generation with a sign of its own': [
      block(
        '200,NMI1,B1,B1,B1,N1,M1,kWh,30,',
        `300,20260301,${day(48, (at) => (at === 7 ? '-0.5' : '0'))},A`,
      ),
      4,
      /the file itself has signs, set generation: positive/,
    ],
    'a line beyond the limit': [block(`300,20260301,${day(3_000)},A`), 3, /longer than/],
  }
  for (const [what, [text, line, reason]] of Object.entries(cases)) {
    const { records } = await convert(text, { format })
    const refused = records.filter((one) => one.refused !== undefined)
    t.equal(refused[0]?.line, line, what)
    t.match(refused[0]?.refused?.detail, reason, what)
  }
})

t.test('no day goes to the meter before where its own 200 record cannot be read', async (t) => {
  const own = `300,20260302,${day(48, () => '2')},A`
  const before = `300,20260301,${day(48)},A`
  const lost: readonly (readonly string[])[] = [
    [before, '2O0,NMI2,E1,E1,E1,N1,M2,kWh,30,'],
    [before, '"200",NMI2,E1,E1,E1,N1,M2,kWh,30,'],
    [before, '20', '0,NMI2,E1,E1,E1,N1,M2,kWh,30,'],
    [before, `200,NMI2,${'E1'.repeat(3_000)},E1,E1,N1,M2,kWh,30,`],
    [before, '200,NMI2,E1,E1,E1,N1,M2,kWh,7,'],
  ]
  for (const lines of lost) {
    const { plain, records } = await convert(block(...lines, own, own), { format })
    const loaded = rowsOf(plain).filter((row) => row.startsWith('NMI1,'))
    t.equal(total(loaded.join('\n')), '48', lines.join('\n'))
    const reasons = records.flatMap(({ refused }) =>
      refused === undefined ? [] : [refused.detail],
    )
    t.equal(reasons.filter((reason) => /no usable 200 record is before it/.test(reason)).length, 2)
  }
  const joined = `${before},,,20260302093000,,200,NMI2,E1,E1,E1,N1,M2,kWh,30,`
  const { records } = await convert(block(joined, own), { format })
  t.match(
    records.flatMap(({ refused }) => (refused === undefined ? [] : [refused.detail])),
    [/another record follows on the same line/, /no usable 200 record is before it/],
  )
  t.equal(total((await convert(block(`${before},,,20260302093000,,, ,`), { format })).plain), '48')
})

t.test('a refused record counts with the sum of its values', async (t) => {
  const { plain } = await convert(block(`300,20260301,${day(47, (at) => `.${at}`)},A`), { format })
  t.equal(total(plain), '14.86')
})

t.test('a file that is not NEM12 is refused as a whole', async (t) => {
  const files: Readonly<Record<string, RegExp>> = {
    [block().replace('NEM12', 'NEM13')]: /HEADER: line 1: expected 100,NEM12, found 100,NEM13/,
    [block().replace(/^100.*\n/, '')]: /HEADER: line 1: expected a 100 record/,
    'meter;value\n1;2\n': /HEADER: line 1: expected a 100 record/,
    '': /EMPTY_FILE/,
    '\uFEFF': /EMPTY_FILE/,
    '\n \n': /EMPTY_FILE/,
    [block().replace('900\n', block())]: /TRUNCATED: line 3 begins another file/,
  }
  for (const [text, reason] of Object.entries(files)) {
    await t.rejects(convert(text, { format }), { message: reason })
  }
  await t.rejects(convert(Buffer.from(block(), 'utf16le'), { format }), { message: /ENCODING/ })
  await t.rejects(convert(Buffer.from([...Buffer.from(block()), 0xff]), { format }), {
    message: /ENCODING: the bytes from line 1 on are not utf-8/,
  })
})

t.test('a file that is cut anywhere is not complete', async (t) => {
  const whole = block(`300,20260301,${day(48)},V`, '400,1,48,E51')
  const end = whole.indexOf('\n900') + '\n900'.length
  for (let at = 1; at < end; at++) {
    const cut = whole.slice(0, at)
    const found = await convert(cut, { format }).catch((error: Error) => error)
    const reason = found instanceof Error ? found.message : found.ending.cut
    t.ok(reason, `${at} characters`)
  }
  for (const text of [whole.slice(0, end), whole, `${whole}\n\n`, whole.replaceAll('\n', '\r\n')]) {
    const { ending, plain } = await convert(text, { format })
    t.equal(ending.cut, undefined)
    t.equal(total(plain), '48')
  }
})

t.test('several files in one are read one after the other', async (t) => {
  const one = block(`300,20260301,${day(48)},A`)
  t.equal(total((await convert(one + one, { format })).plain), '96')
})

t.test('registers become meters as the profile says, never one of several', async (t) => {
  const text = block(
    `300,20260301,${day(48)},A`,
    '200,NMI1,E1,B1,B1,N1,M1,kWh,30,',
    `300,20260301,${day(48, () => '2')},A`,
  )
  const metersOf = async (more: object) => {
    const { plain, ending } = await convert(text, { format: { ...format, ...more } })
    return { meters: [...new Set(rowsOf(plain).map((row) => row.split(',')[2]))], ending, plain }
  }
  const both = await metersOf({})
  t.same(both.meters, ['NMI1-E1', 'NMI1-B1'])
  t.equal(total(both.plain), '-48', 'generation is negative')
  t.equal(total((await metersOf({ generation: 'positive' })).plain), '144')
  const first = await metersOf({ meter: '{nmi}', registers: ['E1'] })
  t.same(first.meters, ['NMI1'])
  t.same(first.ending.warnings, ['intervals of register B1 (kWh): not loaded: 48'])
  for (const more of [{ meter: '{nmi}' }, { meter: '{serial}', registers: ['E1', 'B1'] }]) {
    t.throws(() => profileWith({ format: { ...format, ...more } }), {
      message: /registers of one NMI would be one meter/,
    })
  }
})

t.test('market time is an offset, and units become the one that is stored', async (t) => {
  const text = block('200,NMI1,E1,E1,E1,N1,M1,MWh,30,', `300,20260301,${day(48)},A`)
  const usage = { unit: { Electric: 'Wh' } }
  const { plain } = await convert(text, { format: { ...format, offset: '-05:30' }, usage })
  t.equal(rowsOf(plain)[0], 'NMI1,NMI1,NMI1-E1,2026-03-01T05:30:00Z,1000000,1800,')
  t.equal(total(plain), '48000000')
})

t.test('a register in therms is loaded where therms are stored, else refused', async (t) => {
  const text = block('200,NMI1,E1,E1,E1,N1,M1,Therm,30,', `300,20260301,${day(48)},A`)
  const gas = { format, feed: 'Gas' } as const
  const { plain } = await convert(text, { ...gas, usage: { unit: { Gas: 'therm' } } })
  t.equal(total(plain), '48')
  const { records } = await convert(text, gas)
  t.match(records.find(({ refused }) => refused)?.refused?.detail, /that ccf can be made of/)
})

t.test('values that are not decimals are left to the row judge', async (t) => {
  const values = day(48, (at) => ['1e3', '=1', '', '"'][at] ?? '1')
  const { plain } = await convert(block(`300,20260301,${values},A`), { format })
  t.same(
    rowsOf(plain)
      .slice(0, 5)
      .map((row) => row.split(',')[4]),
    ['?', '?', '', '?', '1'],
  )
})

t.test('the sample has the totals of its registers', async (t) => {
  const path = join(packageRoot(import.meta.url), 'test/golden/formats/nem12.csv')
  const { plain } = await convert(readFileSync(path), { format })
  const ofMeter = (meter: string) =>
    total(
      rowsOf(plain)
        .filter((row) => row.includes(meter))
        .join('\n'),
    )
  // The first day without and with the intervals of quality N, 1 and 0; ten of 1500 Wh; the last two days.
  t.equal(ofMeter('0001-E1'), '44.675')
  t.equal(ofMeter('0001-B1'), '-15')
  t.equal(ofMeter('0002-E1'), '11.52')
})
