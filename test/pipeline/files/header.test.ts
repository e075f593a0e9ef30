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
  const wrong = ['MeterID,AccountNumber', 'AccountNumber', 'a;b', '', '"a']
  for (const line of wrong) {
    t.throws(() => proveHeader(line, { columns }), {
      code: 'HEADER',
      detail: /^expected AccountNumber,MeterID, found .+; send it with these columns$/,
    })
  }
  t.throws(() => proveHeader('AccountNumber,MeterID,', { columns }), {
    code: 'HEADER',
    detail: /; leave out the others, or set files\.extraColumns: ignore$/,
  })
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

t.test('extra columns are known by name where they are ignored, a hundred of them', async (t) => {
  const read = (line: string) => proveHeader(line, { columns }, 'ignore')
  t.same(read('AccountNumber,MeterID'), { columns, extra: [] })
  t.same(read('AccountNumber,MeterID, Note 2 ,,\u001b\r'), {
    columns,
    extra: ['Note 2', '', '?'],
  })
  t.equal(read(`AccountNumber,MeterID${',x'.repeat(100)}`).extra.length, 100)
  t.throws(() => read(`AccountNumber,MeterID${',x'.repeat(101)}`), { code: 'HEADER' })
  t.throws(() => read('AccountNumber,MeterID,meterid'), { code: 'HEADER' })
})
