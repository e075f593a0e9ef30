import t from 'tap'
import { convert, profileWith } from '../convert.js'

const columns = { meter: 'Meter', time: 'Time', quantity: 'Value' }
const formatWith = (more: object) => ({ name: 'csv', delimiter: ';', columns, ...more })

t.test('thousands are read where the profile names their sign, and only in groups', async (t) => {
  const cases: readonly (readonly [signs: object, sent: string, plain: string])[] = [
    [{ decimal: ',', thousands: '.' }, '1.234,5', '1234.5'],
    [{ decimal: ',', thousands: '.' }, '-1.234.567', '-1234567'],
    [{ decimal: ',', thousands: '.' }, '0,25', '0.25'],
    [{ decimal: ',', thousands: '.' }, '1234,5', '1234.5'],
    [{ decimal: ',', thousands: '.' }, '1.25', '?'],
    [{ decimal: ',', thousands: '.' }, '1234.567', '?'],
    [{ decimal: ',', thousands: '.' }, '1,234.5', '?'],
    [{ decimal: ',', thousands: '.' }, '1.234,567.8', '?'],
    [{ thousands: ',' }, '1,234.5', '1234.5'],
    [{ thousands: ',' }, '1,23', '?'],
    [{ thousands: "'" }, "1'234.5", '1234.5'],
    [{ thousands: "'" }, '1\u2019234.5', '1234.5'],
    [{ decimal: ',', thousands: ' ' }, '1 234,5', '1234.5'],
    [{ decimal: ',', thousands: ' ' }, '1\u00A0234,5', '1234.5'],
    [{ decimal: ',', thousands: ' ' }, '12\u202F345', '12345'],
    [{ decimal: ',', thousands: ' ' }, '1 23', '?'],
    [{ decimal: ',' }, '1.234,5', '?'],
    [{}, '1,234.5', '?'],
    [{}, '+0.5', '0.5'],
    [{ decimal: ',' }, '\u22120,5', '-0.5'],
    [{ decimal: ',', thousands: '.' }, '\u22121.234,5', '-1234.5'],
    [{}, '+-0.5', '?'],
    [{}, '+', '?'],
    [{}, '\u2212\u22121', '?'],
  ]
  for (const [signs, sent, plain] of cases) {
    const file = `Meter;Time;Value\nM;2026-01-01 00:00;${sent}\n`
    const found = await convert(file, { format: formatWith(signs) })
    t.equal(found.plain.trim().split(',')[4], plain, sent)
  }
})

t.test('one sign for both is refused in the profile', async (t) => {
  t.throws(() => profileWith({ format: formatWith({ decimal: ',', thousands: ',' }) }), {
    message: /thousands.*another sign than decimal/,
  })
})
