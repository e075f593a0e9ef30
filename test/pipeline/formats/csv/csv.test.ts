import t from 'tap'
import { convert, profileWith } from '../convert.js'

const columns = { meter: 'Meter', time: 'Time', quantity: 'Value' }
const format = { name: 'csv', columns }
const hoursHeader = ['Meter', 'Day', ...Array.from({ length: 24 }, (_, at) => `H${at}`)].join()
const hourly = {
  format: {
    ...{ name: 'csv', interval: 3_600 },
    columns: { meter: 'Meter', time: 'Day', values: { from: 'H0', count: 24 } },
  },
}
const rowsOf = (plain: string) => plain.split('\n').filter((row) => row !== '')
const text = (...rows: readonly string[]) => ['Meter,Time,Value', ...rows, ''].join('\n')

t.test(
  'a mapping that does not fit the file is refused with the setting and the columns',
  async (t) => {
    const cases: readonly (readonly [mapped: object, header: string, reason: RegExp])[] = [
      [{}, 'Meter,When,Value', /columns\.time: no column "Time"; line 1 has Meter, When, Value/],
      [{}, 'Meter;Time;Value', /columns\.meter: no column "Meter"; line 1 has Meter;Time;Value/],
      [{}, 'Meter,Time,Value,value', /columns\.quantity: more than one column "Value"/],
      [{ quantity: 9 }, 'Meter,Time,Value', /columns\.quantity: no column at position 9/],
      [{}, '55000001,2026-01-01,3', /line 1 has #, #-#-#, #/],
    ]
    for (const [mapped, header, reason] of cases) {
      const own = { ...format, columns: { ...columns, ...mapped } }
      await t.rejects(convert(`${header}\n`, { format: own }), { message: reason })
    }
    const wide = { meter: 'Meter', time: 'Time', values: { from: 'Value', count: 24 } }
    await t.rejects(convert(text(), { format: { ...format, columns: wide, interval: 3_600 } }), {
      message: /columns\.values\.count: 24 columns from "Value" on are too many/,
    })
    await t.rejects(convert('', { format }), { message: /EMPTY_FILE/ })
  },
)

t.test('a header that cannot be split is refused; no row takes its place', async (t) => {
  const own = { format: { ...format, columns: { meter: 1, time: 2, quantity: 3 } } }
  const rows = ['M,2026-01-01 00:00,1', 'M,2026-01-01 01:00,2', '']
  for (const [header, reason] of [
    ['Meter,Time,"Value', /^HEADER: line 1 .* quotes do not match/],
    [`Meter,Time,${'x'.repeat(5_000)}`, /^HEADER: line 1 .* longer than limits.rowBytesMax/],
  ] as const) {
    await t.rejects(convert([header, ...rows].join('\n'), own), { message: reason })
  }
})

t.test('an identifier of two columns needs both', async (t) => {
  const own = { format: { ...format, columns: { ...columns, meter: ['Meter', 'Device'] } } }
  const rows = ['A,B,2026-01-01 00:00,1', 'A,,2026-01-01 00:00,2', ',B,2026-01-01 00:00,3', '']
  const { plain } = await convert(['Meter,Device,Time,Value', ...rows].join('\n'), own)
  const meters = rowsOf(plain).map((row) => row.split(',')[2])
  t.same(meters.slice(-3), ['A-B', '', ''])
})

t.test('settings that contradict each other are refused in the profile', async (t) => {
  const cases: readonly (readonly [more: object, reason: RegExp])[] = [
    [{ columns: { meter: 'M', time: 'T' } }, /either quantity, or values/],
    [{ columns: { ...columns, values: { from: 'h1', count: 24 } } }, /either quantity, or values/],
    [
      { columns: { meter: 'M', time: 'T', values: { from: 'h1', count: 24 } }, interval: 900 },
      /values\.count of them fill a day/,
    ],
    [{ header: false }, /use positions/],
    [{ multiplier: 1e-9 }, /a decimal number above 0/],
    [{ clock: 'EST' }, /wall, standard, or an offset/],
  ]
  for (const [more, reason] of cases) {
    t.throws(() => profileWith({ format: { ...format, ...more } }), { message: reason })
  }
  await t.rejects(convert(text(), { format: { ...format, unit: 'cm' } }), {
    message: /cm cannot be converted to usage\.unit\.Electric, kWh/,
  })
})

t.test('therms stay therms, and no volume becomes a therm', async (t) => {
  const own = { format: { ...format, unit: 'therm' }, feed: 'Gas' } as const
  const usage = { unit: { Gas: 'therm' } }
  const { plain } = await convert(text('M,2026-01-02,1.085'), { ...own, usage })
  t.same(rowsOf(plain), ['M,M,M,2026-01-02,1.085,0,'])
  for (const [unit, stored] of [
    ['therm', 'ccf'],
    ['therm', 'cm'],
    ['ccf', 'therm'],
    ['cm', 'therm'],
  ] as const) {
    const setting = { ...own, format: { ...format, unit }, usage: { unit: { Gas: stored } } }
    await t.rejects(convert(text(), setting), {
      message: `CONFIG: usage.format.Gas.unit: ${unit} cannot be converted to usage.unit.Gas, ${stored}`,
    })
  }
})

t.test(
  'a row that does not have the columns of the header is refused, never shifted',
  async (t) => {
    const { records } = await convert(
      text('M,2026-01-01 00:00,1,5', 'M,2026-01-01 01:00', 'M,"x,1'),
      {
        format: { ...format, decimal: ',' },
      },
    )
    t.same(
      records.slice(1).map(({ line, refused }) => [line, refused?.code]),
      [
        [2, 'TOO_MANY_COLUMNS'],
        [3, 'TOO_FEW_COLUMNS'],
        [4, 'BAD_QUOTES'],
      ],
    )
    const values = (count: number) => Array.from({ length: count }, () => '1')
    const rows = [values(24), values(23), values(12), []].map((row) => ['M', '2026-01-01', ...row])
    const short = await convert([hoursHeader, ...rows, ''].join('\n'), hourly)
    t.same(
      short.records.map(({ count, refused }) => [count, refused?.code]),
      [[0, undefined], [24, undefined], ...Array(3).fill([1, 'TOO_FEW_COLUMNS'])],
    )
  },
)

t.test('times, numbers and quotes are those of the plain layout', async (t) => {
  const cases: readonly (readonly [time: string, more: object, expected: string])[] = [
    ['20260102', {}, '2026-01-02'],
    ['202601020315', {}, '2026-01-02 03:15'],
    ['20260102T031530', {}, '2026-01-02 03:15:30'],
    ['02.01.2026 3:15', {}, '02/01/2026 3:15'],
    ['2026-01-02 03:15', { clock: '-05:00' }, '2026-01-02T08:15:00Z'],
    ['02-01-2026 03:15', { clock: '+05:30', dateOrder: 'DMY' }, '2026-01-01T21:45:00Z'],
    ['2026-01-02T03:15+02:00', { clock: '+05:30' }, '2026-01-02T03:15+02:00'],
    ['soon', { clock: '+05:30' }, 'soon'],
  ]
  for (const [time, more, expected] of cases) {
    const { plain } = await convert(text(`M,${time},1`), { format: { ...format, ...more } })
    t.equal(rowsOf(plain)[0], `M,M,M,${expected},1,0,`, time)
  }
  const odd = await convert(text('"M ""1"", a",2026-01-02 03:15,"2.5"', 'M,2026-01-02 03:15,1e3'), {
    format: { ...format, multiplier: 0.001 },
  })
  t.same(rowsOf(odd.plain), [
    '"M ""1"", a","M ""1"", a","M ""1"", a",2026-01-02 03:15,0.0025,0,',
    'M,M,M,2026-01-02 03:15,?,0,',
  ])
})

t.test('a long decimal is converted exactly, or refused', async (t) => {
  const binary = '0.001000000000000000020816681711721685133294202387332916259765625'
  for (const [more, sent, found] of [
    [{ unit: 'Wh' }, binary, `0.000${binary.slice(2)}`],
    [{ unit: 'MWh' }, binary, `1.${binary.slice(5)}`],
    [{ unit: 'Wh' }, `0.001${'0'.repeat(1_000)}`, '?'],
    [{}, `0.001${'0'.repeat(1_000)}`, '?'],
  ] as const) {
    const { plain } = await convert(text(`M,2026-01-02,${sent}`), {
      format: { ...format, ...more },
    })
    t.equal(rowsOf(plain)[0]?.split(',')[4], found)
  }
})

t.test(
  'a decimal point where commas are decimal is refused, not a thousand times less',
  async (t) => {
    const own = { ...format, delimiter: ';', decimal: ',' }
    const lines = ['Meter;Time;Value', 'M;2026-01-02 03:15;1.234', 'M;2026-01-02 03:30;1,5', '']
    const { plain } = await convert(lines.join('\n'), { format: own })
    t.same(
      rowsOf(plain).map((row) => row.split(',')[4]),
      ['?', '1.5'],
    )
  },
)

t.test('lines keep their numbers, and a file without its last line end shows it', async (t) => {
  const file = `\uFEFFtitle\n\n${text('M,2026-01-01 00:00,1', '', 'M,2026-01-01 01:00,2')}`
  const setting = { format: { ...format, skipLines: 2 } }
  const { plain } = await convert(file, setting)
  t.same(
    plain.split('\n').map((row) => row.split(',')[3] ?? ''),
    ['', '', '', '2026-01-01 00:00', '', '2026-01-01 01:00', ''],
  )
  const unended = await convert(file.trimEnd(), setting)
  t.equal(unended.ending.isUnended, true)
  t.notOk(unended.plain.endsWith('\n'))
  t.equal(unended.ending.cut, undefined, 'its last row may be whole')
  const cut = await convert(file.slice(0, file.lastIndexOf(',')), setting)
  t.match(cut.ending.cut, /last line is incomplete/)
})

t.test('a file that is cut anywhere loses only what is behind the cut, and shows it', async (t) => {
  const row = `M,2026-01-01${',1.5'.repeat(24)}`
  for (const [whole, setting] of [
    [text('M,2026-01-01 00:00,1.25', 'M,2026-01-01 01:00,2.5'), { format }],
    [[hoursHeader, row, row.replace('01,', '02,'), ''].join('\n'), hourly],
  ] as const) {
    const { plain } = await convert(whole, setting)
    for (let at = whole.indexOf('\n') + 1; at < whole.length; at++) {
      const found = await convert(whole.slice(0, at), setting)
      const { cut, isUnended } = found.ending
      t.equal(Boolean(cut) || isUnended, whole[at - 1] !== '\n', `${at} characters`)
      const before = found.plain.slice(0, found.plain.lastIndexOf('\n') + 1)
      if (cut === undefined) t.ok(plain.startsWith(before), `${at} characters`)
    }
  }
})

t.test('another encoding than that of the profile is refused', async (t) => {
  const german = 'Zähler,Time,Value\nM,2026-01-02 00:00,1\n'
  const utf16 = Buffer.from(german, 'utf16le')
  const files: Readonly<Record<string, Buffer>> = {
    'utf-8': Buffer.from(german),
    'windows-1252': Buffer.from(german, 'latin1'),
    'utf-16le': utf16,
    'utf-16be': Buffer.from(utf16).swap16(),
  }
  for (const [sent, file] of Object.entries(files)) {
    for (const encoding of Object.keys(files)) {
      const own = { format: { ...format, encoding, columns: { ...columns, meter: 'Zähler' } } }
      if (sent === encoding) t.equal((await convert(file, own)).records[1]?.count, 1)
      else
        await t.rejects(
          convert(file, own),
          { message: /^(ENCODING|HEADER)/ },
          `${sent} ${encoding}`,
        )
    }
  }
  const bare = { ...format, header: false, columns: { meter: 1, time: 2, quantity: 3 } }
  for (const size of [1, 65_536]) {
    await t.rejects(
      convert(
        '\uFEFFM,2026-01-02 00:00,1\n',
        { format: { ...bare, encoding: 'windows-1252' } },
        size,
      ),
      { message: /^ENCODING: the bytes from line 1 on are not windows-1252/ },
    )
  }
})

t.test('flags beside the values of a day are never loaded as values', async (t) => {
  const header = hoursHeader.replaceAll(/,H\d+/g, (name) => `${name},Flag`)
  await t.rejects(convert(`${header}\nM,03/09/2026${',1.5,0'.repeat(24)}\n`, hourly), {
    code: 'HEADER',
    message: /columns\.values: 12 of 24 columns from "H0" on are "flag"/i,
  })
  const numbered = hoursHeader.replaceAll(/,H(\d+)/g, (name, at) => `${name},S${at}`)
  await t.rejects(convert(`${numbered}\nM,03/09/2026${',1.5,0'.repeat(24)}\n`, hourly), {
    ...{ code: 'HEADER', message: /columns\.values: 12 of 24 columns from "H0" on are "s#"/ },
  })
})

t.test('a century of days is read to its last hour', async (t) => {
  const days = 36_525
  const dateOf = (day: number) =>
    new Date(Date.UTC(2000, 0, 1 + day)).toISOString().slice(0, 10).split('-')
  const lines = Array.from({ length: days }, (_, at) => {
    const [year, month, day] = dateOf(at)
    return `M,${month}/${day}/${year}${',1'.repeat(24)}`
  })
  const { records, plain, ending } = await convert([hoursHeader, ...lines, ''].join('\n'), hourly)
  t.equal(
    records.reduce((sum, { count }) => sum + count, 0),
    days * 24,
  )
  t.ok(plain.endsWith('M,M,M,2099-12-31T13:00:00Z,1,3600,\n'))
  t.equal([...(ending.dates ?? [])].length, days, 'each date may prove the order of day and month')
})

t.test('times as databases and hubs write them mean what they say', async (t) => {
  const cases: readonly (readonly [sent: string, plain: string])[] = [
    ['2026-03-28 24:00', '2026-03-29 00:00'],
    ['2026-12-31T24:00:00', '2027-01-01 00:00:00'],
    ['28.02.2024 24:00', '29/02/2024 00:00'],
    ['2026/3/8 01:15', '2026-03-08 01:15'],
    ['2026.03.08', '2026-03-08'],
    ['2026-03-08-01.15.00', '2026-03-08 01:15:00'],
    ['2026-03-08-01.15.00.000000', '2026-03-08 01:15:00'],
    ['2026-03-08-01.15.00.5', '2026-03-08-01.15.00.5'],
    ['2026-03-08 01:15:00.0000000', '2026-03-08 01:15:00'],
    ['2026-03-08 01:15:00.500', '2026-03-08 01:15:00.500'],
    ['2026-03-08 24:15', '2026-03-08 24:15'],
    ['31/02/2026 24:00', '31/02/2026 24:00'],
  ]
  for (const [sent, plain] of cases) {
    const own = { ...format, dateOrder: 'DMY' }
    const { plain: rows } = await convert(text(`M1,${sent},1`), { format: own })
    t.same(
      rowsOf(rows).map((row) => row.split(',')[3]),
      [plain],
      sent,
    )
  }
})
