import fc from 'fast-check'
import { invisibleRanges } from '../../../schemas/field.js'

const long = 'x'.repeat(64)

/** Fields without a quote. */
const bare = {
  id: ['A1', ' A1', 'A1\t', '', '9.1002E+11', '9E-11', '12E34', 'A+1', 'é'.repeat(40), `${long}x`]
    .concat([long, "'A1'", '\\N', 'NULL', 'A\\t1', '\u00a0', 'A 1', '=1', '+A', ' -1', '@A', 'A=1'])
    .concat(['a\rb', '\ufeffA', 'A\u00851', 'A\x7f', 'A\x01', '😀', '#1', '(1)'])
    .concat(['A\u202e1', '\u200bA', 'A\u00ad', 'A\u20281', 'A\uffff', 'A\u{e0041}1', 'A\u3000']),
  stamp: ['3/4/2024 0:00', '3/4/2024', '03/04/2024 00:15', '3/4/2024 13:45:00', '3/4/2024 1:45 PM']
    .concat(['2024-03-04T05:00', '2024-03-04 05:00:00', '2024-03-04T05:00:00Z', '2024-03-04'])
    .concat(['2024-03-04T05:00:00+05:30', ' 3/4/2024 0:15 ', '3/31/2024 0:30', '10/27/2024 0:30'])
    .concat(['13/13/2024', '2/30/2024', '3/4/24', '', 'x', '1/1/1970', '12/31/2105 23:59'])
    .concat(['1/1/2044 0:00'])
    .concat(['3/4/2024 24:00', '3/4/2024  0:00', '1/1/2106', '3/4/2024 0:00 pm', '0']),
  quantity: ['1.5', '-2', '0', '-0', '.5', '5.', '', '1e3', '+1', '0.1234565', '0.1234575', ' 3 ']
    .concat(['123456789.123456789', '999999999', '999999999.000001', '9999999999', '-999999999'])
    .concat(['000000000001', '00000000000000001.5', '0'.repeat(400), '--1', '-', '.', '- 1', 'NaN'])
    .concat([
      'Infinity',
      '1_000',
      '0x10',
      '1.0000000',
      '-0.0000004',
      '1.2.3',
      '1-',
      '٣',
      '7\t',
      '0.',
      '-3.',
    ]),
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
  id: ['', long, `${long}x`, '9.1002E11', '12E34', 'NULL', 'A 1', '-1', '#1', '(1)'],
  stamp: [
    '3/4/2024',
    '3/4/2044',
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

/** A usage file without its header. */
export interface HostileFile {
  readonly name: string
  readonly feed: 'Electric' | 'Gas'
  readonly body: string
  readonly mode: Mode
}

/** A row for the first and last code point of each range that identifiers must not have, and those beside. */
export function invisibleFile(): HostileFile {
  const edges = invisibleRanges.flatMap((range) => {
    const [from = 0, to = from] = range.split('-').map((hex) => Number.parseInt(hex, 16))
    return [from - 1, from, to, to + 1]
  })
  const rows = edges
    .filter((code) => code > 0 && code <= 0x10ffff)
    .map((code, at) => `A${String.fromCodePoint(code)}1,S,V${at},3/4/2024 0:00,1`)
  const name = 'DEMO_05032024_Electric_900000.csv'
  return { name, feed: 'Electric', body: `${rows.join('\n')}\n`, mode: 'bare' }
}

/** Files by a seed, as many of each mode. */
export function hostileFiles(options: {
  readonly seed: number
  readonly count: number
}): readonly HostileFile[] {
  const { seed, count } = options
  const modes = Object.keys(odds) as readonly Mode[]
  return modes
    .flatMap((mode) => fc.sample(fileOf(mode), { numRuns: count / modes.length, seed }))
    .map(({ mode, feed, rows, end, ended }, index): HostileFile => {
      const own = rows.map((row, at) => row.replaceAll('#', `M${index}-${at}`))
      const early = mode === 'plain' ? [] : [` A,S,N${index},1/1/1970 0:00,1`]
      const last = `A,S,M${index},3/4/2024 0:00,1`
      const whole = [...own, ...early, last].join(end) + (ended ? end : '')
      return { name: `DEMO_05032024_${feed}_${index}.csv`, feed, body: whole, mode }
    })
}
