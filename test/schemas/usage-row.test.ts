import fc from 'fast-check'
import { test } from 'tap'
import { judgeIdentifier, trimBlanks } from '../../schemas/field.js'
import { formatQuantity, isPlainDecimal, parseQuantity } from '../../schemas/quantity.js'
import { createZone } from '../../schemas/time/zone.js'
import {
  judgeUsageRow,
  type RejectCode,
  rejectCodes,
  type UsageRules,
} from '../../schemas/usage-row.js'
import { sampled } from './sampled.js'

const zone = createZone('America/Detroit')
const at = (text: string): number => Date.parse(text) / 1_000
const electric: UsageRules = {
  commodity: 'Electric',
  zone,
  dateOrder: 'MDY',
  format: undefined,
  clock: 'wall',
  stamp: 'start',
  seconds: 900,
  negative: { Electric: true, Gas: false },
  quantityMax: 999_999_999,
}
const gas: UsageRules = {
  ...electric,
  commodity: 'Gas',
  startsMax: at('2018-02-01T12:00Z'),
}
const columns = ['AccountNumber', 'ExternalSiteID', 'MeterID', 'TimeStamp', 'TotalUnit'] as const
const good = ['4001', 'S1', 'M1', '1/4/2017', '1.5']

type Trial = readonly [text: string, code: RejectCode | undefined]
const identifiers: readonly Trial[] = [
  ['4001', undefined],
  [` \t${'x'.repeat(64)}\t `, undefined],
  ['1E34', undefined],
  ['\u{1F50C}'.repeat(64), undefined],
  [' \t', 'EMPTY'],
  ['x'.repeat(65), 'TOO_LONG'],
  ['9.1002E+11', 'SPREADSHEET_NUMBER'],
  ['9E+11', 'SPREADSHEET_NUMBER'],
  ['A-1+2=3@', undefined],
  ['=1+2', 'FORMULA'],
  ['+1', 'FORMULA'],
  [' -1', 'FORMULA'],
  ['@A', 'FORMULA'],
  ['A\rB', 'CONTROL_CHARACTER'],
  ['A\u0085', 'CONTROL_CHARACTER'],
  ['\ufeffA', 'CONTROL_CHARACTER'],
]
const times: readonly Trial[] = [
  ['1/4/2017', undefined],
  [' 2017-01-04T00:15:00-05:00 ', undefined],
  ['3/12/2017 1:59', undefined],
  ['3/12/2017 2:00 AM', 'NONEXISTENT_TIME'],
  ['2017-03-12T02:59:59', 'NONEXISTENT_TIME'],
  ['', 'EMPTY'],
  ['13/4/2017', 'NOT_A_TIME'],
  ['2/29/2017', 'NOT_A_TIME'],
  ['1970-01-01T00:00Z', 'NOT_A_TIME'],
  ['1970-01-01T04:59Z', 'NOT_A_TIME'],
  ['1970-01-01T05:00Z', undefined],
  ['2018-02-01T12:00Z', undefined],
  ['2018-02-01T12:00:01Z', 'FUTURE_TIME'],
  ['2/2/2036', 'FUTURE_TIME'],
]
const amounts: readonly Trial[] = [
  ['1.5', undefined],
  [' .0000005\t', undefined],
  ['-0', undefined],
  ['999999999', undefined],
  ['\t', 'EMPTY'],
  ['1e3', 'NOT_A_NUMBER'],
  ['0.', 'NOT_A_NUMBER'],
  ['-5.', 'NOT_A_NUMBER'],
  ['.', 'NOT_A_NUMBER'],
  ['1,5', 'NOT_A_NUMBER'],
  ['-0.5', 'NEGATIVE'],
  ['-9999999999999', 'NEGATIVE'],
  ['999999999.000001', 'TOO_LARGE'],
  ['9999999999999', 'TOO_LARGE'],
]

test('the first wrong column from the left decides, whatever the others hold', async (t) => {
  const wrong: string[] = []
  let rows = 0
  for (const [a, aCode] of identifiers)
    for (const [b, bCode] of identifiers)
      for (const [c, cCode] of identifiers)
        for (const [d, dCode] of times)
          for (const [e, eCode] of amounts) {
            const codes = [aCode, bCode, cCode, dCode, eCode]
            const first = codes.findIndex((code) => code !== undefined)
            const verdict = judgeUsageRow([a, b, c, d, e], gas)
            const found = verdict.outcome === 'accepted' ? '' : `${verdict.column} ${verdict.code}`
            if (found !== (first < 0 ? '' : `${columns[first]} ${codes[first]}`)) wrong.push(found)
            rows += 1
          }
  t.equal(rows, identifiers.length ** 3 * times.length * amounts.length)
  t.same(wrong, [])
})

test('an identifier has no invisible character', async (t) => {
  const invisible = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{NChar}\p{DI}]/u
  const wrong: string[] = []
  for (let code = 0; code <= 0x10ffff; code++) {
    const character = String.fromCodePoint(code)
    const expected = invisible.test(character) ? 'CONTROL_CHARACTER' : undefined
    if (judgeIdentifier(`A${character}1`) !== expected) wrong.push(code.toString(16))
  }
  t.same(wrong, [])
})

test('an accepted row says who, where, which meter, when and how much', async (t) => {
  const verdict = judgeUsageRow([' 4001', 'S1\t', 'M1', '1/4/2017 0:15', '1.0000005'], electric)
  t.strictSame(verdict, {
    outcome: 'accepted',
    accountNumber: '4001',
    externalSiteId: 'S1',
    meterId: 'M1',
    starts: [at('2017-01-04T05:15Z')],
    micros: 1_000_000n,
    rounded: true,
  })
})

test('a rejected row says code, column and the words of its code', async (t) => {
  t.strictSame(judgeUsageRow(good.slice(0, 4), gas), {
    outcome: 'rejected',
    code: 'TOO_FEW_COLUMNS',
    column: '',
    detail: 'expected 5 columns, found 4',
    micros: 0n,
    rounded: false,
  })
  t.strictSame(judgeUsageRow([...good, '7.0000001'], gas), {
    outcome: 'rejected',
    code: 'TOO_MANY_COLUMNS',
    column: '',
    detail: 'expected 5 columns, found 6',
    micros: 7_000_000n,
    rounded: true,
  })
  t.match(judgeUsageRow([], gas), { detail: 'expected 5 columns, found 0', micros: 0n })
  t.match(judgeUsageRow(good.with(2, ''), gas), {
    detail: rejectCodes.EMPTY.detail,
    micros: 1_500_000n,
  })
})

test('a stamp is local time, two instants in the repeated hour, or as its offset says', async (t) => {
  const rows: [string, ...string[]][] = [
    ['11/5/2017 0:59', '2017-11-05T04:59Z'],
    ['11/5/2017 1:00', '2017-11-05T05:00Z', '2017-11-05T06:00Z'],
    ['11/5/2017 1:59:59', '2017-11-05T05:59:59Z', '2017-11-05T06:59:59Z'],
    ['11/5/2017 2:00', '2017-11-05T07:00Z'],
    ['3/12/2017 3:00', '2017-03-12T07:00Z'],
    ['3/12/2017', '2017-03-12T05:00Z'],
    ['2017-11-05T01:00-05:00', '2017-11-05T06:00Z'],
    ['2017-03-12T02:30Z', '2017-03-12T02:30Z'],
  ]
  for (const [text, ...instants] of rows)
    t.match(judgeUsageRow(good.with(3, text), electric), { starts: instants.map(at) }, text)
  const dayFirst = judgeUsageRow(good.with(3, '1/4/2017'), { ...electric, dateOrder: 'DMY' })
  t.match(dayFirst, { starts: [at('2017-04-01T04:00Z')] })
})

test('a day exists where its midnight is skipped, and not where all of it is', async (t) => {
  const havana = { ...electric, zone: createZone('America/Havana') }
  const day = judgeUsageRow(good.with(3, '3/12/2023'), havana)
  t.match(day, { starts: [at('2023-03-12T05:00Z')] })
  const apia = { ...gas, zone: createZone('Pacific/Apia') }
  t.match(judgeUsageRow(good.with(3, '12/30/2011'), apia), { code: 'NONEXISTENT_TIME' })
})

test('negative quantities follow the commodity, large ones the profile', async (t) => {
  t.match(judgeUsageRow(good.with(4, '-5'), electric), { outcome: 'accepted', micros: -5_000_000n })
  t.match(judgeUsageRow(good.with(4, '-5'), gas), { code: 'NEGATIVE', micros: -5_000_000n })
  t.match(judgeUsageRow(good.with(4, '-1000000000'), electric), { code: 'TOO_LARGE' })
  t.match(judgeUsageRow(good.with(4, '-9999999999999'), electric), {
    code: 'TOO_LARGE',
    micros: 0n,
  })
  t.match(judgeUsageRow(good.with(4, '11'), { ...gas, quantityMax: 10 }), { code: 'TOO_LARGE' })
})

test('only blanks and tabs around a field are trimmed', async (t) => {
  for (const [text, left] of [
    ['\t a b \t', 'a b'],
    [' ', ''],
    ['', ''],
    ['\u00a0a\n', '\u00a0a\n'],
  ])
    t.equal(trimBlanks(text ?? ''), left)
})

test('every row of any width has a verdict and counts its last plain decimal', async (t) => {
  const trials = [...identifiers, ...times, ...amounts].map(([text]) => text)
  const field = fc.oneof(fc.constantFrom(...trials), fc.string(), fc.constantFrom(' 7.25', '-3 '))
  sampled(
    t,
    fc.property(fc.array(field, { maxLength: 7 }), (fields) => {
      const verdict = judgeUsageRow(fields, electric)
      const last = trimBlanks(fields.at(-1) ?? '')
      const counted = isPlainDecimal(last) ? (parseQuantity(last)?.micros ?? 0n) : 0n
      if (verdict.micros !== counted) return false
      if (verdict.outcome === 'rejected')
        return verdict.detail.startsWith(rejectCodes[verdict.code].detail)
      const again = [verdict.accountNumber, verdict.externalSiteId, verdict.meterId]
      const text = '2017-01-04T00:00'
      const second = judgeUsageRow([...again, text, formatQuantity(verdict.micros)], electric)
      return (
        second.outcome === 'accepted' &&
        second.micros === verdict.micros &&
        !('rounded' in second && second.rounded)
      )
    }),
  )
})
