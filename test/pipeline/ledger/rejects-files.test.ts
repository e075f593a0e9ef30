import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { t } from 'tap'
import { writeRejects } from '../../../pipeline/ledger/rejects-files.js'
import { createStore } from '../../../pipeline/store/clickhouse.js'
import { createFolder } from '../../rig/folder.js'
import { migratedStore } from '../customers/registering.js'
import { createProxy, withProfile } from '../store/proxy.js'

const store = await migratedStore(t)
let arrivals = 0

/** The rows of a rejects file, as it would have them of these texts. */
async function written(texts: readonly string[]): Promise<readonly string[]> {
  const arrival = ++arrivals
  await store.insert(
    'reject',
    texts.map((raw, at) => ({
      arrival,
      line: at + 2,
      column_name: '',
      code: 'X',
      detail: '',
      raw,
    })),
  )
  const path = join(createFolder(t), 'rejects.csv')
  await writeRejects(store, { arrival }, path)
  const file = readFileSync(path, 'utf8')
  const rows = file.slice(file.indexOf('\n') + 1)
  const cells = rows.matchAll(/\d+,(?:"(?:[^"]|"")*",){3}"((?:[^"]|"")*)"\n/gy)
  return [...cells].map(([, cell = '']) => cell.replaceAll('""', '"'))
}

/** As the guide says: one apostrophe less at each start of a formula. */
const restored = (cell: string) =>
  cell.replace(/(^|[,;|"\t\r\n])'(?=[ ']*[=+\-@＝＋－＠])|^'(?=[ ']*[\t\r\n])/g, '$1')

/** Where a spreadsheet sees a cell begin, whatever its separator is. */
const cellsOf = (text: string) => [text, ...[...',;|"\t\r\n'].flatMap((one) => text.split(one))]
const isFormula = (cell: string) =>
  /^[ \t\r\n]*[=+\-@＝＋－＠]/.test(cell) && !/^[+-](\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?$/.test(cell)

t.test('formulas get an apostrophe, numbers do not', async (t) => {
  const cases: Readonly<Record<string, string>> = {
    '=A1,S,M': "'=A1,S,M",
    'A,-5,+1,-.5,-1e3,-2': 'A,-5,+1,-.5,-1e3,-2',
    '-5.2': '-5.2',
    '-5.2,A': "'-5.2,A",
    'A;-5': "A;'-5",
    "-2+3+cmd|' /C calc'!A0": "'-2+3+cmd|' /C calc'!A0",
    'A;=1': "A;'=1",
    '"=HYPERLINK(""x"")",S': '"\'=HYPERLINK(""x"")",S',
    ',@SUM(1),\t=1': ",'@SUM(1),\t'=1",
    '\t=1': "'\t'=1",
    "'=1": "''=1",
    ' =1': "' =1",
    '＝1': "'＝1",
    'plain, 1-2': 'plain, 1-2',
  }
  t.same(await written(Object.keys(cases)), Object.values(cases))
})

t.test('no text is a formula afterwards, and each can be restored', async (t) => {
  const part = fc.constantFrom(...'=+-@\t\r\n,;|"\' ', '＝', 'a', '5', '.2', '-5', 'e')
  const texts = fc.sample(
    fc.array(part, { maxLength: 9 }).map((parts) => parts.join('')),
    3_000,
  )
  const cells = await written(texts)
  t.equal(cells.length, texts.length)
  t.same(cells.map(restored), texts)
  t.same(
    cells.filter((cell) => cellsOf(cell).some(isFormula)),
    [],
  )
})

t.test('cells are separated by commas, whatever the profile of the user says', async (t) => {
  const profile = withProfile({ format_csv_delimiter: ';' })
  const other = createStore({
    ...store.address,
    url: await createProxy(t, store.address.url, profile),
  })
  t.teardown(() => other.close())
  const path = join(createFolder(t), 'rejects.csv')
  await writeRejects(other, { arrival: 0 }, path)
  t.equal(readFileSync(path, 'utf8'), '"Line","Column","Code","Detail","Row"\n')
})
