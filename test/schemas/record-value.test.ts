import t from 'tap'
import { formatQuantity, parseQuantity } from '../../schemas/quantity.js'
import { decimal, maybe, notNegative, price } from '../../schemas/record-value.js'

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
