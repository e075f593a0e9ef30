import { test } from 'tap'
import { parseFileName, rateSetOf } from '../../schemas/file-name.js'
import { suggestPattern } from '../../schemas/name-pattern.js'
import { parseProfile } from '../../schemas/settings/profile.js'

const least = { companyCodes: ['ILPC', 'B'], timeZone: 'America/Detroit' }
const parse = (name: string, ...fileNames: readonly object[]) =>
  parseFileName(name, parseProfile({ ...least, fileNames }))

test('a name like a pattern of the profile says what the usual one does', async (t) => {
  const electric = { companyCode: 'ILPC', fileDate: '2018-02-08', feed: 'Electric' }
  const rows: [string, object, object][] = [
    [
      'mdm usage.el-2018-02-08.csv.gz',
      { like: 'mdm usage.el-<YYYY>-<MM>-<DD>', feed: 'Electric' },
      { ...electric, compression: 'gzip' },
    ],
    [
      'Gas.B.08.02.18.2018.zip',
      { like: '<Feed>.<CompanyCode>.<DD>.<MM>.18.<YYYY>' },
      { ...electric, companyCode: 'B', feed: 'Gas', compression: 'zip' },
    ],
    [
      '201802083.csv',
      { like: '<YYYY><MM><DD><n>', feed: 'Electric' },
      { ...electric, suffix: 3, compression: 'none' },
    ],
  ]
  for (const [name, pattern, expected] of rows) t.same(parse(name, pattern), { name, ...expected })
})

test('the first pattern that fits is taken, and the usual one after all', async (t) => {
  const american = { like: '<CompanyCode>_<MM><DD><YYYY>_<Feed>' }
  const short = { like: '<CompanyCode>_<DD><MM><YYYY>_EL', feed: 'Electric' }
  t.match(parse('ILPC_08022018_Gas.csv', american, short), { fileDate: '2018-08-02' })
  t.match(parse('ILPC_08022018_EL.csv', short, american), { fileDate: '2018-02-08' })
  t.match(parse('ILPC_08022018_Gas.csv', short), { fileDate: '2018-02-08', feed: 'Gas' })
})

test('a name that is nearly like a pattern is refused', async (t) => {
  const pattern = { like: 'el.<YYYY><MM><DD>', feed: 'Electric' }
  for (const name of ['el-20180208.csv', 'el.20180208', 'xel.20180208.csv', 'el.20180208.csv\n']) {
    t.throws(() => parse(name, pattern), { code: 'FILE_NAME', detail: /fileNames in the profile/ })
  }
  t.throws(() => parse('el.20180230.csv', pattern), {
    code: 'FILE_NAME',
    detail: /30022018 is not a calendar day/,
  })
  t.throws(() => parse('el.20180208.xls', pattern), {
    code: 'FILE_NAME',
    detail: /it does not end in/,
  })
})

test('the refusal of a name shows the patterns of the profile', async (t) => {
  const patterns = Array.from({ length: 12 }, (_, at) => ({
    like: `el${at}.<YYYY><MM><DD>`,
    feed: 'Electric',
  }))
  t.throws(() => parse('el.20180208.csv', ...patterns.slice(0, 2)), {
    code: 'FILE_NAME',
    detail:
      /is not <CompanyCode>_.*: el0\.<YYYY><MM><DD>\.csv, el1\.<YYYY><MM><DD>\.csv; rename it, or add one/,
  })
  t.throws(() => parse('el.20180208.csv', ...patterns), {
    code: 'FILE_NAME',
    detail: /el9\.\S+ and 2 more; rename it/,
  })
  t.throws(() => parse('el.20180208.csv'), {
    code: 'FILE_NAME',
    detail: /the pattern; add other patterns to/,
  })
})

test('a pattern that could not be read is refused with the remedy', async (t) => {
  const rows: [object, RegExp][] = [
    [{ like: '<YYYY><MM><DD>' }, /fileNames\[0\]\.like: write <Feed> in the pattern, or set feed/],
    [{ like: '<YYYY><MM><DD><Feed>', feed: 'Gas' }, /write <Feed> in the pattern, or set feed/],
    [{ like: '<YYYY><MM><Feed>' }, /use all of <DD>, <MM>, <YYYY>/],
    [{ like: '<YYYY><MM><DD><DD><Feed>' }, /use each mark once/],
    [{ like: '<YYYY><MM><DD><Feed><Hour>' }, /the marks are <CompanyCode>, <DD>,/],
    [{ like: '<YYYY><MM><DD><Feed><toString>' }, /the marks are/],
    [{ like: '<YYYY><MM><DD><Feed' }, /the marks are/],
    [{ like: '../<YYYY><MM><DD><Feed>' }, /use letters, digits, blanks/],
    [{ like: '<YYYY><MM><DD>(a+)+<Feed>' }, /use letters, digits, blanks/],
    [{ like: '<YYYY><MM><DD>', feed: 'Water' }, /feed: use Electric or Gas/],
  ]
  for (const [pattern, detail] of rows)
    t.throws(() => parse('', pattern), { code: 'PROFILE', detail })
})

test('the files of a set are known however they are named, and so are its done-files', async (t) => {
  const setOf = (name: string, ...fileNames: readonly object[]) =>
    rateSetOf(name, parseProfile({ ...least, fileNames }))
  const usual = 'ILPC_08022018_Rates.done'
  const own = { like: '<Feed> of <YYYY>-<MM>-<DD>' }
  const rates = { set: 'rates', key: 'ILPC_08022018_rates' }
  t.same(setOf('ILPC_08022018_RateTou.csv'), { ...rates, done: [usual] })
  t.same(setOf('ILPC_08022018_Holidays_2.zip')?.done, [usual, 'ILPC_08022018_Rates_2.done'])
  const done = [usual, 'Rates of 2018-02-08.done']
  t.same(setOf('RateTou of 2018-02-08.csv.gz', own), { ...rates, done })
  t.same(setOf('ILPC_08022018_RateTou.csv', own), { ...rates, done: [usual] }, 'beside the others')
  const fixed = { like: 'tariff <YYYY><MM><DD>', feed: 'RateFlat' }
  t.same(setOf('tariff 20180208.csv', fixed), { ...rates, done: [usual] })
  t.equal(setOf('Billing of 2018-02-08.csv', own), undefined)
  t.equal(setOf('RateTou of 2018-02-08.csv'), undefined)
})

test('a pattern is suggested for a name with one clear date', async (t) => {
  const rows: readonly (readonly [name: string, like: string | undefined])[] = [
    ['mdm_20261121.csv', 'mdm_<YYYY><MM><DD>'],
    ['usage-el 2026-11-21_0300.csv.gz', 'usage-el <YYYY>-<MM>-<DD>_<n>'],
    ['21.11.2026.Gas.zip', '<DD>.<MM>.<YYYY>.Gas'],
    ['el_11212026.csv.zip', 'el_<MM><DD><YYYY>'],
    ['el_11122026.csv', undefined],
    ['el_20261121_21112026.csv', undefined],
    ['export.csv', undefined],
    ['mdm_20261121.txt', undefined],
  ]
  for (const [name, like] of rows) {
    t.equal(suggestPattern(name), like, name)
    if (like !== undefined) t.match(parse(name, { like, feed: 'Electric' }), { feed: 'Electric' })
  }
})
