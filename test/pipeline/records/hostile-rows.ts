import fc from 'fast-check'

/** Columns without a quote. */
const bare = ['', ' ', '\t', '0', '-0', '-0.0', '1', '-1', '007', '.5', '-.5', '5.', '-', '.', '+1']
  .concat(['1.0000005', '1.0000015', '-12.3456785', '0.123456789', '0.1234567895', '1.2.3', ' 3 '])
  .concat(['999999999999.999999', '9999999999999', '999999999999.9999999', '0'.repeat(20), '1e3'])
  .concat(['9.1002E+11', '9E-11', '12E34', '9E+111', '9e+5', 'E+11', '1E', '1.', '1.5', '9 E+11'])
  .concat(['2026-02-28', '2026-02-29', '2024-02-29', '2000-02-29', '1900-02-28', '2100-02-29'])
  .concat(['1969-12-31', '1970-01-01', '2105-12-31', '2106-01-01', '2026-04-31', '2026-13-01'])
  .concat(['2026-2-1', '2/1/2026', '2026-02-01 ', '2026-02-01T00:00', '0000-00-00', '--06-01'])
  .concat([
    'Energy',
    'energy',
    'ENERGY',
    'Energy ',
    'Active',
    'active',
    'true',
    'True',
    'NaN',
    'inf',
  ])
  .concat([
    '4294967295',
    '4294967296',
    '99999999999',
    '1,5',
    '\\N',
    'NULL',
    '\\',
    "'",
    "'a'",
    'a\\tb',
  ])
  .concat(['Zürich 💡', 'é'.repeat(40), 'é'.repeat(64), '💡'.repeat(251), 'x'.repeat(64)])
  .concat([
    'x'.repeat(65),
    'y'.repeat(500),
    'y'.repeat(501),
    'z'.repeat(1_030),
    '=cmd()',
    '@a',
    '+a',
  ])
  .concat([
    '-a',
    'a=b',
    'a b',
    ' a',
    'a\t',
    'a\tb',
    '\ta',
    '\u00a0a',
    'a\u00a0',
    '\u2028',
    '\ufeffa',
  ])
  .concat(['\ufeff', 'a\ufeff', 'a\u0001', 'a\u007f', '\u0085', 'a\u0085b', '٣', '#1', '(1)', '_'])
  .concat(['a\u202eb', '\u200b', 'a\u00ad', 'a\u2028b', 'a\ufdd0', 'a\u{e0041}b', 'a\u3000b'])
  .concat(['a\rb', 'a\r', '\ra', '\r'])

/** Columns with quotes on one line, of which the engine and the parser see the same ends. */
const quoted = ['"a,b"', '"a ""b"""', '""', '" "', '"a "', '" a"', '"a" ', ' "a"', '""""', '"1.5"']
  .concat([
    '" 1.5 "',
    '"2026-02-28"',
    '"Energy"',
    '"\\N"',
    '"9.1E+11"',
    '"a\tb"',
    '"1,5"',
    ' "x,y"',
  ])
  .concat(['"x,y" ', `"${'a'.repeat(64)}"`, 'a"b', '6"', 'a""b', '\u00a0"a"', '\ufeff"a"'])

/** Columns whose quotes do not match, or hold line ends, and carriage returns. */
const broken = [
  '"a',
  '"a"b',
  '"',
  '"""',
  '"a\nb"',
  '"a\r\nb"',
  '"a\rb"',
  '"a"\u00a0',
  '"a"\r',
].concat(['a\n', '\n', '\n\nb'])

const withoutReturns = bare.filter((text) => !text.includes('\r'))
const odds = { bare, quoted, broken } as const
type Mode = keyof typeof odds

const usual = (texts: readonly string[]) => fc.constantFrom(...texts)
const number = fc
  .tuple(fc.integer({ min: -(10 ** 10), max: 10 ** 10 }), fc.nat(10 ** 9), fc.nat(14))
  .map(([whole, fraction, length]) => `${whole}.${fraction}`.slice(0, 4 + length))
const date = fc
  .tuple(fc.integer({ min: 1965, max: 2110 }), fc.integer({ max: 14 }), fc.integer({ max: 33 }))
  .map((parts) => parts.map((part) => String(Math.abs(part)).padStart(2, '0')).join('-'))
const text = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .map((drawn) => drawn.replace(/[",\r\n\0]/g, '-'))

function oddColumn(mode: Mode): fc.Arbitrary<string> {
  const common = [usual(mode === 'bare' ? bare : withoutReturns), number, date, text]
  return fc.oneof(...common, ...(mode === 'bare' ? [] : [usual(quoted), usual(odds[mode])]))
}

const columnsApart = /,(?=(?:[^"]*"[^"]*")*[^"]*$)/

/** A row of a good file with up to three columns replaced, seldom one less or more. */
function rowOf(mode: Mode, good: readonly string[], extra: number): fc.Arbitrary<string> {
  const own = fc.constantFrom(...good).map((row) => {
    const columns = row.split(columnsApart)
    return mode === 'bare' ? columns.map((one) => one.replace(/[",]/g, '')) : columns
  })
  const odd = fc.array(fc.tuple(fc.nat(50), oddColumn(mode)), { maxLength: 3 })
  const behind = fc.array(fc.oneof(fc.constant('more'), oddColumn(mode)), {
    minLength: extra,
    maxLength: extra,
  })
  return fc.tuple(own, odd, behind, fc.nat(30)).map(([columns, spoilt, more, cut]) => {
    const all = [...columns]
    for (const [at, one] of spoilt) all[at % all.length] = one
    all.push(...more)
    if (cut === 0) all.pop()
    if (cut === 1) all.push('more')
    return all.join(',')
  })
}

/** Rows that keep a whole chunk from the engine, or may do so; `#` is longer than a row may be here. */
const oddRows = {
  bare: ['', ' ', ',', '\r', '#'],
  quoted: ['""', '', '#', '"a"#'],
  broken: ['"#', '\r'],
}
const long = ' '.repeat(1_030)

/** A file of a feed. */
export interface HostileFile {
  readonly text: string
  readonly mode: string
  /** Columns behind those of the feed. */
  readonly extra: number
}

/** Files by a seed, of each mode as many; `golden` is a good one of the feed. */
export function hostileFiles(
  golden: string,
  { seed, count }: { readonly seed: number; readonly count: number },
): readonly HostileFile[] {
  const [header = '', ...good] = golden.trimEnd().split('\n')
  const fileOf = (mode: Mode) =>
    fc.nat(11).chain((drawn) => {
      const extra = drawn % 4 === 3 ? 2 : 0
      const usualRow = rowOf(mode, good, extra)
      const odd = fc.tuple(usualRow, usual(oddRows[mode])).map(([row, text]) => {
        return text.includes('#') ? row.replace(/,/, `${text.replace('#', long)},`) : text
      })
      const some = { weight: drawn < 3 ? 2 : 0, arbitrary: odd }
      return fc.record({
        mode: fc.constant(mode),
        extra: fc.constant(extra),
        rows: fc.array(fc.oneof({ weight: 60, arbitrary: usualRow }, some), {
          minLength: 60,
          maxLength: 120,
        }),
        end: fc.constantFrom('\n', '\r\n'),
        ended: fc.boolean(),
      })
    })
  const modes = Object.keys(odds) as readonly Mode[]
  return modes.flatMap((mode, at) =>
    fc.sample(fileOf(mode), { numRuns: count, seed: seed + at }).map((file) => {
      const names = [header, ...Array.from({ length: file.extra }, (_, at) => `more${at}`)]
      const text = [names.join(','), ...file.rows].join(file.end) + (file.ended ? file.end : '')
      return { mode, extra: file.extra, text }
    }),
  )
}
