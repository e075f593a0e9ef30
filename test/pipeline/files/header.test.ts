import t from 'tap'
import { proveHeader } from '../../../pipeline/files/header.js'

const columns = ['AccountNumber', 'MeterID']

t.test('a header is compared without case, blanks, quotes, BOM and line end', async (t) => {
  const good = [
    'AccountNumber,MeterID',
    '\ufeffaccountnumber, METERID \r',
    '"AccountNumber","MeterID"',
  ]
  for (const line of good) t.doesNotThrow(() => proveHeader(line, { columns }), line)
})

t.test('any other header is refused, saying what was expected and what was found', async (t) => {
  const wrong = [
    'MeterID,AccountNumber',
    'AccountNumber',
    'AccountNumber,MeterID,',
    'a;b',
    '',
    '"a',
  ]
  for (const line of wrong) {
    t.throws(() => proveHeader(line, { columns }), {
      code: 'HEADER',
      detail: /^expected AccountNumber,MeterID, found .+; send it with these columns$/,
    })
  }
  t.throws(() => proveHeader('\ufeffAccountNumber;MeterID\r', { columns }), {
    code: 'HEADER',
    detail: 'its columns are separated by semicolons; separate them with commas',
  })
  t.throws(() => proveHeader('', { columns }), { code: 'HEADER', detail: /found nothing/ })
  t.throws(
    () => proveHeader('\u001b[2Jé', { columns }),
    { code: 'HEADER', detail: /found \?\[#J\?/ },
    'nothing unseen',
  )
  t.throws(() => proveHeader('x'.repeat(500), { columns }), {
    code: 'HEADER',
    detail: /x\.\.\. \(500 characters\)/,
  })
})
