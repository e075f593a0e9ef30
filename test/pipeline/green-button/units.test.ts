import t from 'tap'
import { measureOf, toAmount, toValue } from '../../../pipeline/green-button/units.js'

t.test('six decimals of each unit are written exactly', async (t) => {
  t.same(measureOf('kWh', '9.000001'), { uom: 72, multiplier: -3 })
  t.equal(toValue('0.000001', { unit: 'kWh', multiplier: -3 }), 1n, 'a thousandth of a Wh')
  t.same(measureOf('ccf', '1'), { uom: 119, multiplier: -6 })
  t.equal(toValue('0.000001', { unit: 'ccf', multiplier: -6 }), 100n)
  t.same(measureOf('cm', '1'), { uom: 42, multiplier: -6 })
  t.equal(toValue('-2.5', { unit: 'cm', multiplier: -6 }), -2_500_000n)
  t.same(measureOf('therm', '1'), { uom: 169, multiplier: -6 })
  t.equal(toValue('1.000001', { unit: 'therm', multiplier: -6 }), 1_000_001n)
})

t.test('reads sent in Wh with more decimals are written exactly, too', async (t) => {
  t.same(measureOf('kWh', '0.000250999', true), { uom: 72, multiplier: -6 })
  t.equal(toValue('0.000250999', { unit: 'kWh', multiplier: -6 }), 250_999n)
  t.same(
    measureOf('kWh', '140737.488355328', true),
    { uom: 72, multiplier: -3 },
    'too large for 48 bits',
  )
})

t.test('a quantity beyond 48 bits is written in larger steps, rounded', async (t) => {
  t.same(measureOf('kWh', '140737488.355327'), { uom: 72, multiplier: -3 })
  t.same(measureOf('kWh', '140737488.355328'), { uom: 72, multiplier: 0 })
  t.same(measureOf('kWh', '999999999999.999999'), { uom: 72, multiplier: 3 })
  t.same(measureOf('ccf', '999999999999.999999'), { uom: 119, multiplier: 0 })
  t.equal(toValue('1.0005', { unit: 'kWh', multiplier: 0 }), 1_001n)
  t.equal(toValue('-1.0005', { unit: 'kWh', multiplier: 0 }), -1_001n)
  t.equal(toValue('1.000499', { unit: 'kWh', multiplier: 0 }), 1_000n)
})

t.test('an amount is in hundred-thousandths of a dollar', async (t) => {
  t.equal(toAmount('82.9'), 8_290_000n)
  t.equal(toAmount('-0.000005'), -1n)
})

t.test('a unit without a code is an error', async (t) => {
  t.throws(() => measureOf('MJ', '1'), /no ESPI code for the unit MJ/)
})
