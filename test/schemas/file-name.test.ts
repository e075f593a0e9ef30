import fc from 'fast-check'
import { test } from 'tap'
import { Fault } from '../../schemas/fault.js'
import { feedNames } from '../../schemas/feed.js'
import { isToBeTaken, parseFileName } from '../../schemas/file-name.js'
import { sampled } from './sampled.js'

const usual = { companyCodes: ['ILPC'], fileNames: [] }

/** The message of the fault that a name meets; undefined where the name is taken. */
function refusal(name: string): string | undefined {
  try {
    parseFileName(name, usual)
    return undefined
  } catch (error) {
    return error instanceof Fault && error.code === 'FILE_NAME' ? error.message : String(error)
  }
}

test('a file name says company, day, feed, suffix and compression', async (t) => {
  const plain = { companyCode: 'ILPC', fileDate: '2018-02-08', feed: 'Electric' }
  const rows: [string, object][] = [
    ['ILPC_08022018_Electric.csv', { ...plain, compression: 'none' }],
    ['ILPC_08022018_Electric.csv.gz', { ...plain, compression: 'gzip' }],
    ['ILPC_08022018_Electric.csv.zip', { ...plain, compression: 'zip' }],
    ['ILPC_08022018_Electric.zip', { ...plain, compression: 'zip' }],
    ['ILPC_08022018_Electric_2.csv', { ...plain, suffix: 2, compression: 'none' }],
    [
      '1_29022016_Gas_10.csv.gz',
      { companyCode: '1', fileDate: '2016-02-29', feed: 'Gas', suffix: 10, compression: 'gzip' },
    ],
  ]
  for (const [name, expected] of rows)
    t.strictSame(parseFileName(name, usual), { name, ...expected })
})

test('a name that is not of the pattern is refused with the pattern and the reason', async (t) => {
  const rows: [string, RegExp][] = [
    ['ILPC_08022018_Water.csv', /its feed is not one of Electric, Gas/],
    ['ILPC_08022018_electric.csv', /its feed is not one of/],
    ['ILPC_08022018_toString.csv', /its feed is not one of/],
    ['ILPC_02312018_Gas.csv', /02312018 is not a calendar day \(DDMMYYYY\)/],
    ['ILPC_29022018_Gas.csv', /is not a calendar day/],
    ['ILPC_08022018_Gas.csv.bz2', /does not match the pattern/],
    ['ILPC_08022018_Gas.txt', /it does not end in .csv, .csv.gz/],
    ['ILPC_08022018_Gas.csv.part', /it does not end in/],
    [`${'A'.repeat(33)}_08022018_Gas.csv`, /does not match the pattern/],
    [`ILPC_08022018_${'G'.repeat(300)}.csv`, /longer than 255 bytes/],
    [`${'é'.repeat(128)}.csv`, /longer than 255 bytes/],
  ]
  for (const [name, reason] of rows) {
    t.match(refusal(name), reason, name.slice(0, 40))
    t.match(refusal(name), '<CompanyCode>_<DDMMYYYY>_<Feed>[_<n>].csv[.gz|.zip]')
    t.ok((refusal(name) ?? '').length < 500, 'the message stays short')
  }
})

test('no path, dot name, blank, control character or half of a pattern gets through', async (t) => {
  const good = 'ILPC_08022018_Gas.csv'
  const wrong = ['', '.', '..', `.${good}`, `../${good}`, `a/${good}`, `a\\${good}`, `${good}/`]
  wrong.push(
    `${good}\n`,
    ` ${good}`,
    `${good} `,
    good.replace('C_', 'C\0_'),
    'ILPC__08022018_Gas.csv',
  )
  wrong.push(
    'ILPC_8022018_Gas.csv',
    'IL-PC_08022018_Gas.csv',
    '_08022018_Gas.csv',
    good.toUpperCase(),
  )
  wrong.push('ILPC_08022018_Gas_.csv', 'ILPC_08022018_Gas_x.csv', 'ILPC_08022018_Gas_-1.csv')
  for (const name of wrong) t.ok(refusal(name), JSON.stringify(name))
})

test('a name is made again from what it says, or refused in printable words', async (t) => {
  const piece = fc.constantFrom(
    'A',
    'ILPC',
    '08022018',
    '31042018',
    'Gas',
    'x',
    '2',
    '_',
    '.csv',
    '.gz',
  )
  const name = fc.oneof(
    fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join('')),
    fc
      .tuple(fc.constantFrom(...feedNames), fc.nat(9))
      .map(([feed, n]) => `A_0101201${n}_${feed}.csv`),
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.integer({ min: 0, max: 0xff }).map((c) => String.fromCharCode(c)) }),
  )
  sampled(
    t,
    fc.property(name, (text) => {
      const message = refusal(text)
      if (message !== undefined)
        return message.startsWith('FILE_NAME: ') && !/\p{Cc}/u.test(message)
      const { companyCode, fileDate, feed, suffix, compression } = parseFileName(text, usual)
      const [year, month, day] = fileDate.split('-')
      const made = `${companyCode}_${day}${month}${year}_${feed}`
      return (
        text.startsWith(made) &&
        (suffix === undefined || text.includes(`_${suffix}.`)) &&
        compression === (text.endsWith('.gz') ? 'gzip' : text.endsWith('.zip') ? 'zip' : 'none')
      )
    }),
  )
})

test('a file that its sender still writes is known by its name, and what is beside it', async (t) => {
  for (const name of ['.ILPC.csv', 'a.csv.part', 'a.csv.filepart', 'a.TMP', '.', '..'])
    t.equal(isToBeTaken(name), false, name)
  for (const name of ['a.csv.receipt.json', 'a.csv.rejects.csv', 'a.csv.ended', 'a.csv.done'])
    t.equal(isToBeTaken(name), false, name)
  for (const name of ['ILPC_08022018_Gas.csv', 'part', 'a.part.csv', 'apart', 'a.csv.gz', ''])
    t.equal(isToBeTaken(name), true, name)
})
