import fc from 'fast-check'
import t from 'tap'
import { importRates } from '../../../../schemas/rating/database/import.js'
import { addDays } from '../../../../schemas/time/zone.js'
import { runs } from '../../../rig/sample.js'
import { entry, usual } from './entries.js'

/** Ten-thousandths of a dollar by period. */
const prices = fc.array(fc.integer({ min: 0, max: 9_999 }), { minLength: 3, maxLength: 3 })
const hours = fc.oneof(
  fc.integer({ min: 0, max: 2 }).map((period) => Array<number>(24).fill(period)),
  fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 24, maxLength: 24 }),
)
const schedule = fc
  .array(hours, { minLength: 2, maxLength: 2 })
  .chain(([first = [], second = []]) =>
    fc.array(fc.constantFrom(first, second), { minLength: 12, maxLength: 12 }),
  )
const tariff = fc.record({
  prices,
  adj: fc.constantFrom(0, 0.0003),
  weekday: schedule,
  weekend: schedule,
})

t.test('each hour of each day has one price, that of its period', async () => {
  fc.assert(
    fc.property(
      tariff,
      fc.nat(800),
      fc.nat(23),
      ({ prices, adj, weekday, weekend }, plus, hour) => {
        const day = addDays('2025-03-01', plus)
        const { files } = importRates(
          entry({
            energyratestructure: prices.map((price) => [
              { rate: price / 10_000, adj, unit: 'kWh' },
            ]),
            energyweekdayschedule: weekday,
            energyweekendschedule: weekend,
          }),
          usual,
        )
        const isWeekend = [0, 6].includes(new Date(day).getUTCDay())
        const period = (isWeekend ? weekend : weekday)[Number(day.slice(5, 7)) - 1]?.[hour] ?? 0
        const wanted = ((prices[period] ?? 0) / 10_000 + adj).toFixed(4)
        const found = files
          .flatMap(({ name, lines }) => lines.map((line) => toPriced(name, line)))
          .filter((one) => one.from <= day && (one.to === '' || day <= one.to))
          .filter(({ start, end }) =>
            start < end ? start <= hour && hour < end : hour >= start || hour < end,
          )
          .filter(
            ({ type }) => type === 'All' || type === (isWeekend ? 'WeekendHoliday' : 'Weekday'),
          )
        return found.length === 1 && Number(found[0]?.amount).toFixed(4) === wanted
      },
    ),
    { numRuns: runs(150, 5_000) },
  )
})

/** The columns of a row that price an hour; those of other files hold on no day. */
function toPriced(fileName: string, line: string) {
  const fields = line.split(',')
  const [, name = '', amount = '', start, end, from = '', to = '', type = ''] = fields
  if (fileName.includes('RateTou')) {
    return { amount, start: Number(start), end: Number(end), from, to, type }
  }
  const isFlat = fileName.includes('RateFlat')
  const dates = isFlat ? { from: fields[2] ?? '', to: fields[3] ?? '' } : { from: 'none', to: '' }
  return { amount: name, start: 0, end: 24, type: 'All', ...dates }
}
