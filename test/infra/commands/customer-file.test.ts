import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { readCustomers } from '../../../infra/commands/customer-file.js'

async function recordsOf(folder: string, text: string) {
  const path = join(folder, 'customers.json')
  writeFileSync(path, text)
  const records = []
  for await (const { line, value } of readCustomers(path)) records.push([line, value])
  return records
}

t.test('a file of customers', async (t) => {
  const read = (text: string) => recordsOf(t.testdir(), text)
  const object = { clientId: '1', customerSites: [{ meters: [] }] }

  t.test('is one object on as many lines as it likes', async (t) => {
    t.same(await read(JSON.stringify(object)), [[1, object]])
    t.same(await read(`\uFEFF\n${JSON.stringify(object, undefined, 2)}\n`), [[2, object]])
    t.same(await read('{ "clientId":\n"1" }\n'), [[1, { clientId: '1' }]])
  })

  t.test('or one on each line, whatever is wrong with some', async (t) => {
    t.same(await read('{"a":1}\n\n{"a":2}\r\n{"a":'), [
      [1, { a: 1 }],
      [3, { a: 2 }],
      [4, undefined],
    ])
    t.same(await read('{"a":1\n{"a":2}\n{"a":3}\n'), [
      [1, undefined],
      [2, { a: 2 }],
      [3, { a: 3 }],
    ])
  })

  t.test('or an array of objects in any layout, each at its own line', async (t) => {
    const tricky = { clientId: '"],}\\', customerSites: [{ meters: ['{', 'é'] }] }
    t.same(await read(JSON.stringify([object, tricky, object])), [
      [1, object],
      [1, tricky],
      [1, object],
    ])
    t.same(await read(`\uFEFF\n${JSON.stringify([object, tricky], undefined, 2)}\n`), [
      [3, object],
      [11, tricky],
    ])
    t.same(await read('[\n{"a":1}\n]'), [[2, { a: 1 }]])
    t.same(await read(' [ ] \n'), [])
    const many = Array.from({ length: 30_000 }, (_, at) => ({ ...tricky, at }))
    t.same(
      await read(JSON.stringify(many)),
      many.map((one) => [1, one]),
    )
  })

  t.test('an array with a mistake has its other elements, and says that it is cut', async (t) => {
    t.same(await read('[{"a":1},\nnonsense,\n{"a":2}]'), [
      [1, { a: 1 }],
      [2, undefined],
      [3, { a: 2 }],
    ])
    t.same(await read('[{"a":1},\n{"a":'), [
      [1, { a: 1 }],
      [2, undefined],
    ])
    t.same(await read('[{"a":1}'), [[1, undefined]])
    t.same(await read('[{"a":1},,[1]]\n{"a":2}'), [
      [1, { a: 1 }],
      [1, undefined],
      [1, [1]],
      [2, undefined],
    ])
  })

  t.test('has no records if empty, and one invalid record if not JSON', async (t) => {
    t.same(await read(''), [])
    t.same(await read('not\njson\n'), [[1, undefined]])
  })
})
