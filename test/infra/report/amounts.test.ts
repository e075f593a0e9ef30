import t from 'tap'
import {
  counted,
  dollars,
  energy,
  money,
  percentOf,
  rounded,
  sumOf,
} from '../../../infra/report/amounts.js'

t.test('money has two decimals, rounded half away from zero', async (t) => {
  const cases = {
    '0': '0.00',
    '4.5': '4.50',
    '1234567.005': '1,234,567.01',
    '-1.005': '-1.01',
    '-0.004': '0.00',
    '0.995': '1.00',
    '99999999999999.999999': '100,000,000,000,000.00',
  }
  for (const [amount, text] of Object.entries(cases)) t.equal(money(amount), text, amount)
  t.equal(money(null), '–')
  t.same(['-1234.5', '0', '2'].map(dollars), ['-$1,234.50', '$0.00', '$2.00'])
})

t.test('energy has a unit and three decimals', async (t) => {
  t.equal(energy('8686.6574', 'kWh'), '8,686.657 kWh')
  t.equal(energy('-0.0005', 'ccf'), '-0.001 ccf')
  t.equal(rounded('12.5', 0), '13')
})

t.test('sums are exact', async (t) => {
  t.equal(sumOf(['0.1', '0.2', null, '-0.05']), '0.25')
  t.equal(sumOf(['99999999999999.999999', '0.000001']), '100000000000000')
  t.equal(sumOf(['-0.4', '0.1']), '-0.3')
  t.equal(sumOf([null]), null)
})

t.test('100 % means all', async (t) => {
  t.equal(percentOf(9_999, 10_000), '99.9 %')
  t.equal(percentOf(10_000, 10_000), '100.0 %')
  t.equal(percentOf(0, 0), '–')
  t.same([counted(1, 'bill'), counted(1_200, 'bill')], ['1 bill', '1,200 bills'])
})
