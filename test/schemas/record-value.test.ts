import fc from 'fast-check'
import t from 'tap'
import { feedNames, recordFeedOf } from '../../schemas/feed.js'
import { lineTypes } from '../../schemas/feeds/billing-lines.js'
import { trimBlanks } from '../../schemas/field.js'
import { formatQuantity, parseQuantity } from '../../schemas/quantity.js'
import { judgeRecord, type RecordFeed } from '../../schemas/record-feed.js'
import {
  count,
  day,
  decimal,
  identifier,
  isDay,
  maybe,
  notNegative,
  oneOf,
  price,
  words,
} from '../../schemas/record-value.js'
import { sampled } from './sampled.js'

t.test('a decimal is written as the store writes it, whichever way it is read', async (t) => {
  const wrong: string[] = []
  const go = (text: string) => {
    const quantity = parseQuantity(text)
    const expected = quantity && formatQuantity(quantity.micros)
    const found = decimal(text)
    if ((typeof found === 'string' ? found : undefined) !== expected) wrong.push(text)
    if (text.length < 7) for (const next of '-01.5') go(text + next)
  }
  for (const first of '-01.5') go(first)
  t.same(wrong, [])
  t.equal(decimal('123456789012.123456'), '123456789012.123456')
  t.match(decimal('1234567890123.1'), { code: 'TOO_LARGE' })
})

t.test('a price keeps 9 decimals, any other decimal 6; digits beyond are rounded', async (t) => {
  t.equal(price('0.123456789'), '0.123456789')
  t.equal(price('0.1234567885'), '0.123456788')
  t.equal(price('0.1234567895'), '0.12345679')
  t.equal(price('-.5'), '-0.5')
  t.equal(price('123456789012.000000001'), '123456789012.000000001')
  t.match(price('1234567890123'), { code: 'TOO_LARGE' })
  t.match(price('0.'), { code: 'NOT_A_NUMBER' })
  t.match(price(''), { code: 'EMPTY' })
  t.equal(decimal('0.1234565'), '0.123456')
  t.same(
    [price, maybe(price), decimal, notNegative].map(({ decimals }) => decimals),
    [9, 9, 6, 6],
  )
})

/** All short texts of what makes a number or spoils one. */
let odd = ['']
for (let length = 1; length <= 5; length++) {
  odd = odd.flatMap((text) => [text, ...[...'1.eE+- =,"'].map((one) => text + one)])
}

t.test('what is plain is accepted, and with the value that the store reads', (t) => {
  const columns = feedNames.flatMap((name) => [...(recordFeedOf(name)?.plain?.columns ?? [])])
  const patterns = new Map(columns.map(([, plain]) => [plain.pattern, plain]))
  const judges = { identifier, words, day, decimal, price, count, type: oneOf(lineTypes) }
  for (const [name, judge] of Object.entries(judges)) {
    const { pattern, bytesMax = 100 } = judge.plain ?? { pattern: '' }
    patterns.delete(pattern)
    const plain = new RegExp(`^(?:${pattern})$`)
    const isRight = (text: string) => {
      if (!plain.test(text) || Buffer.byteLength(text) > bytesMax) return true
      const found = judge(text)
      if (typeof found !== 'string' || trimBlanks(text) !== text) return false
      const isNumber = judge.decimals !== undefined || name === 'count'
      return isNumber ? toNumber(found) === toNumber(text) : found === text
    }
    t.same(
      odd.filter((text) => !isRight(text)),
      [],
      name,
    )
    sampled(t, fc.property(fc.stringMatching(plain), isRight))
  }
  const others = [...patterns.keys()].filter((pattern) => !/^\(\?:[A-Za-z|]+\)$/.test(pattern))
  t.same(others, [], 'the patterns of all feeds are tried, or lists of words')
  t.end()
})

/** A decimal as billionths. */
function toNumber(text: string): bigint {
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  return BigInt(`${text.startsWith('-') ? '-' : ''}${whole}${fraction.padEnd(9, '0')}`)
}

t.test('days that are nearly dates are plain only if they are', (t) => {
  const pattern = new RegExp(`^(?:${day.plain?.pattern})$`)
  for (let year = 1965; year <= 2110; year++) {
    for (let month = 0; month <= 13; month++) {
      for (let date = 0; date <= 32; date++) {
        const text = [year, month, date].map((one) => String(one).padStart(2, '0')).join('-')
        const isOdd = pattern.test(text) !== isDay(text) && !/^(19|21).*-02-29$/.test(text)
        if (isOdd) t.fail(text)
      }
    }
  }
  t.end()
})

t.test('a column that a header may leave out is absent from plain rows', (t) => {
  for (const feed of feedNames.flatMap((name) => recordFeedOf(name) ?? [])) {
    for (const column of feed.bracketed) {
      t.not(feed.plain && feed.plain.columns.get(column)?.absent === undefined, true, column)
    }
  }
  t.end()
})

t.test('a fixed charge has a basis that its kind can have', async (t) => {
  const feed = recordFeedOf('RateFixed') as RecordFeed
  const judged = (charge: string) =>
    judgeRecord(feed, { header: feed.columns }, `R,Name,${charge},false,2026-01-01,`.split(','))
  for (const [charge, expected] of [
    ['TaxPercent,PerPeriod,4', 'Percent for TaxPercent'],
    ['taxamount,Percent,4', 'PerPeriod, PerDay, PerMonth, PerUnit for TaxAmount'],
    ['Minimum,Percent,10', 'PerPeriod, PerDay, PerMonth for Minimum'],
    ['Minimum,PerUnit,0.05', 'PerPeriod, PerDay, PerMonth for Minimum'],
  ] as const) {
    const detail = `expected one of ${expected}`
    t.match(judged(charge), { outcome: 'rejected', code: 'NOT_LISTED', column: 'Basis', detail })
  }
  for (const charge of ['TaxAmount,PerUnit,1', 'Minimum,PerDay,1', 'Credit,Percent,1'])
    t.match(judged(charge), { outcome: 'accepted' })
})
