import { test } from 'tap'
import { byteSize, parseByteSize } from '../../../schemas/settings/byte-size.js'

test('a size is whole bytes, or a number with its unit in steps of 1024', async (t) => {
  const rows: [unknown, number][] = [
    [0, 0],
    [33_554_432, 33_554_432],
    ['512 B', 512],
    ['64 KB', 65_536],
    ['64KB', 65_536],
    ['32 MB', 33_554_432],
    ['100 GB', 107_374_182_400],
    ['1 TB', 1_099_511_627_776],
  ]
  for (const [size, bytes] of rows) t.equal(parseByteSize(size), bytes, String(size))
})

test('an inexact size is refused', async (t) => {
  const wrong = [
    -1,
    1.5,
    Number.NaN,
    2 ** 53,
    '64',
    '64 kb',
    '64 XB',
    '1.5 GB',
    '-1 KB',
    '',
    ' 1 KB',
  ]
  wrong.push('1  KB', '1 KB ', '999999999999999 TB', '1 KiB')
  for (const size of [...wrong, null, undefined, true, [], {}])
    t.equal(parseByteSize(size), undefined, String(size))
})

test('a setting has its default, keeps its bounds and says what to write', async (t) => {
  const setting = byteSize('64 KB', { min: '1 KB', max: '1 MB' })
  t.equal(setting.parse(undefined), 65_536)
  t.equal(setting.parse('1 KB'), 1_024)
  t.equal(setting.parse(1_048_576), 1_048_576)
  const said = (size: unknown) =>
    setting.safeParse(size).error?.issues.map((issue) => issue.message)
  t.same(said(1_023), ['use 1 KB to 1 MB'])
  t.same(said('2 MB'), ['use 1 KB to 1 MB'])
  t.same(said('much'), ['write a whole number of bytes, or a size such as 64 KB or 100 GB'])
})
