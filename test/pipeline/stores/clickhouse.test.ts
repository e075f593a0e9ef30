import { ClickHouseError } from '@clickhouse/client'
import t from 'tap'
import { createClickHouse } from '../../../infra/clickhouse/start.js'
import { onFreePort } from '../../../infra/port.js'
import { createStore, toFault } from '../../../pipeline/stores/clickhouse.js'
import { faultCodes } from '../../../schemas/fault.js'
import { createFolder } from '../../folder.js'

const failed = (code: string, type: string, message: string) =>
  toFault('INSERT  INTO\n reads', new ClickHouseError({ code, type, message }))

t.test('a disk without space is worth a retry', async (t) => {
  t.ok(faultCodes.DISK_FULL.retry)
  const full = failed('243', 'NOT_ENOUGH_SPACE', 'Cannot reserve 1.00 GiB')
  t.match(full, {
    code: 'DISK_FULL',
    detail: /^NOT_ENOUGH_SPACE: Cannot reserve.*; in: INSERT INTO/,
  })
  const message = 'Cannot write to file: , errno: 28, strerror: No space left on device'
  t.equal(failed('75', 'CANNOT_WRITE_TO_FILE_DESCRIPTOR', message).code, 'DISK_FULL')
  const broken = failed('75', 'CANNOT_WRITE_TO_FILE_DESCRIPTOR', 'errno: 5, Input/output error')
  t.equal(broken.code, 'STORE_REFUSED')
  t.equal(failed('252', 'TOO_MANY_PARTS', 'Too many parts').code, 'STORE_UNREACHABLE')
})

t.test('values of rows do not reach a fault', async (t) => {
  for (const code of ['26', '27', '33', '38', '41', '53', '72', '117']) {
    const fault = failed(code, 'CANNOT_PARSE', "Cannot parse '7000000001' as Decimal: (at row 1)")
    t.equal(fault.code, 'STORE_REFUSED')
    t.equal(fault.detail, `CANNOT_PARSE (${code}); in: INSERT INTO reads`)
  }
})

t.test('with a server', async (t) => {
  const engine = await onFreePort(19_123, (port) =>
    createClickHouse({
      dataPath: createFolder(t),
      port,
      writer: { user: 'writer', password: 'w' },
      reader: { user: 'reader', password: 'r' },
      memoryBytesMax: 1024 ** 3,
    }),
  )
  t.teardown(engine.close)
  const store = createStore({
    url: engine.url,
    username: 'writer',
    password: 'w',
    database: 'default',
  })
  t.teardown(store.close)

  t.test('as many identifiers travel as no URL could hold', async (t) => {
    const ids = Array.from(
      { length: 20_000 },
      (_, at) => `METER-WITH-A-LONG-NAME-OF-ITS-MAKER-${at}`,
    )
    const rows = await store.rows({
      sql: `SELECT toUInt32(count()) AS ids, toUInt32(uniqExact(id)) AS different, max(id) AS last
        FROM (SELECT arrayJoin({ids:Array(String)}) AS id)`,
      parameters: { ids },
    })
    t.same(rows, [{ ids: 20_000, different: 20_000, last: ids[9_999] }])
  })

  t.test('a row that does not parse is not quoted', async (t) => {
    await store.command({ sql: 'CREATE TABLE parsed (quantity Decimal(38, 6)) ENGINE = Memory' })
    const refused = store.insert('parsed', [{ quantity: 'secret-7000000001' }])
    const error = await refused.then(
      () => undefined,
      (error: Error) => error,
    )
    t.match(error, { code: 'STORE_REFUSED' })
    t.notMatch(error?.message, /7000000001/)
  })
})
