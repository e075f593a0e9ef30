import t from 'tap'
import { formatQuantity, parseQuantity } from '../../schemas/quantity.js'
import { decimal } from '../../schemas/record-value.js'

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
