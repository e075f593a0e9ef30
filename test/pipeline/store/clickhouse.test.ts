import { ClickHouseError } from '@clickhouse/client'
import t from 'tap'
import { createClickHouse } from '../../../infra/clickhouse/start.js'
import { onFreePort } from '../../../infra/stack/port.js'
import { createStore, toStoreFault, type Wording } from '../../../pipeline/store/clickhouse.js'
import { passingErrors, withdrawnErrors } from '../../../pipeline/store/passing.js'
import { faultCodes } from '../../../schemas/fault.js'
import { createFolder } from '../../rig/folder.js'
import { createProxy, withProfile } from './proxy.js'

const failed = (code: string, type: string, message: string, wording: Wording = 'verbatim') =>
  toStoreFault('INSERT  INTO\n reads', {
    error: new ClickHouseError({ code, type, message }),
    wording,
  })

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
})

t.test(
  'an error that passes by itself is an outage, staging that is gone is loaded again',
  async (t) => {
    for (const [code, why] of passingErrors) {
      const [name = ''] = why.split(':')
      t.equal(failed(code, name, 'any words').code, 'STORE_UNREACHABLE', name)
    }
    const busy = {
      173: 'CANNOT_ALLOCATE_MEMORY',
      439: 'CANNOT_SCHEDULE_TASK',
      473: 'DEADLOCK_AVOIDED',
      499: 'S3_ERROR',
      692: 'TOO_MANY_MUTATIONS',
      724: 'TOO_MANY_TABLES',
      745: 'SERVER_OVERLOADED',
      762: 'HTTP_CONNECTION_LIMIT_REACHED',
    }
    for (const [code, name] of Object.entries(busy))
      t.equal(failed(code, name, 'any words').code, 'STORE_UNREACHABLE', name)
    t.ok(failed('201', 'QUOTA_EXCEEDED', 'Quota for user has been exceeded').retry)
    t.equal(failed('62', 'SYNTAX_ERROR', 'Syntax error').code, 'STORE_REFUSED')
    const unknown = (table: string) =>
      failed('60', 'UNKNOWN_TABLE', `Table ${table} does not exist`)
    t.match(unknown('tieline.staging_17_read'), { code: 'STAGING_LOST', retry: true })
    t.equal(unknown('tieline.usage_read').code, 'STORE_REFUSED')
  },
)

t.test(
  'jobs wait for a right, a password or a limit, and a person learns at once what is wrong',
  async (t) => {
    const given = ['ACCESS_DENIED', 'TOO_MANY_ROWS_OR_BYTES', 'SETTING_CONSTRAINT_VIOLATION']
    const names = [...withdrawnErrors.values()].map((why) => why.split(':')[0])
    for (const name of given) t.ok(names.includes(name), name)
    for (const [code, why] of withdrawnErrors) {
      const [name = ''] = why.split(':')
      t.equal(failed(code, name, 'any words', 'discreet').code, 'STORE_UNREACHABLE', name)
      t.equal(failed(code, name, 'any words').code, 'STORE_REFUSED', name)
    }
  },
)

t.test('a discreet fault shows code and name, whatever the engine says', async (t) => {
  const words = "Cannot parse '7000000001' as Decimal: (at row 1)"
  const fault = failed('27', 'CANNOT_PARSE', words, 'discreet')
  t.equal(fault.code, 'STORE_REFUSED')
  t.equal(fault.detail, 'CANNOT_PARSE (27); in: INSERT INTO reads')
  t.notOk('cause' in fault, 'nor does a cause repeat it')
  t.equal(failed('75', 'CANNOT_WRITE', 'No space left on device', 'discreet').code, 'DISK_FULL')
  t.match(failed('27', 'CANNOT_PARSE', words), { detail: /7000000001/, cause: { code: '27' } })
  const without = (error: Error) => toStoreFault('SELECT 1', { error, wording: 'discreet' })
  t.match(without(new SyntaxError('"7000000001" is not JSON')).detail, /answer \(SyntaxError\)/)
  t.match(without(new Error('Timeout error.')).detail, /\(time-out\)/)
  const refused = Object.assign(new Error('connect 7000000001'), { code: 'ECONNREFUSED' })
  t.match(without(refused), { code: 'STORE_UNREACHABLE', detail: /\(ECONNREFUSED\): SELECT 1$/ })
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
  const address = { url: engine.url, username: 'writer', password: 'w', database: 'default' }
  const store = createStore(address, 'discreet')
  t.teardown(store.close)

  t.test('values look the same whatever the profile of the user sets for formats', async (t) => {
    const profile = {
      date_time_output_format: 'iso',
      output_format_json_named_tuples_as_objects: '0',
      output_format_decimal_trailing_zeros: '1',
    }
    const url = await createProxy(t, engine.url, withProfile(profile))
    const other = createStore({ ...address, url })
    t.teardown(other.close)
    const time = "toDateTime('2026-01-31 12:00:00', 'UTC') AS at"
    const tuple = "CAST((1, 2), 'Tuple(a UInt8, b UInt8)') AS pair"
    const sql = `SELECT ${time}, ${tuple}, toString(toDecimal64('1.50', 6)) AS amount`
    const rows = [{ at: '2026-01-31 12:00:00', pair: { a: 1, b: 2 }, amount: '1.5' }]
    t.same([await store.rows({ sql }), await other.rows({ sql })], [rows, rows])
  })

  t.test('a limit of the user is worth a retry: without it the statement succeeds', async (t) => {
    const sql = 'SELECT number FROM numbers(9) WHERE number IN (SELECT number FROM numbers(9))'
    const limits = ['max_rows_to_read', 'max_bytes_to_read', 'max_rows_in_set']
    for (const limit of limits) {
      const statement = { sql, settings: { [limit]: 1 } }
      await t.rejects(store.rows(statement), { code: 'STORE_UNREACHABLE' }, limit)
    }
  })

  t.test('each code that passes by itself is one that the engine calls so', async (t) => {
    for (const [code, why] of [...passingErrors, ...withdrawnErrors]) {
      const [row] = await store.rows<{ name: string }>({
        sql: `SELECT errorCodeToName(${Number(code)}) AS name`,
      })
      t.equal(row?.name, why.split(':')[0], code)
    }
  })

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

  t.test('of other statements than rows a long list is refused before it is sent', async (t) => {
    const statement = {
      sql: 'SELECT {ids:Array(String)}',
      parameters: { ids: Array(1_000).fill('METER') },
    }
    const refused = { name: 'TypeError', message: /8009 characters .*at most 4096.*in: SELECT/ }
    await t.rejects(store.command(statement), refused)
    await t.rejects(store.stream(statement, 'CSV'), refused)
    t.equal((await store.rows(statement)).length, 1)
  })

  t.test('a command says how many rows it wrote, known tokens included', async (t) => {
    const engine = 'MergeTree ORDER BY n SETTINGS non_replicated_deduplication_window = 10'
    t.notOk(await store.command({ sql: `CREATE TABLE counted (n UInt8) ENGINE = ${engine}` }))
    const settings = { insert_deduplicate: 1, insert_deduplication_token: 'once' }
    const insert = { sql: 'INSERT INTO counted SELECT number FROM numbers(7)', settings }
    t.equal(await store.command(insert), 7)
    t.equal(await store.command(insert), 7)
    t.match(await store.rows({ sql: 'SELECT toUInt32(count()) AS n FROM counted' }), [{ n: 7 }])
  })

  t.test('a stream that fails half way is an error, not a shorter answer', async (t) => {
    const sql = 'SELECT number, throwIf(number = 3000000) FROM numbers(4000000)'
    await t.rejects(store.stream({ sql }, 'CSV'), { code: 'STORE_REFUSED', detail: /\(395\)/ })
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
