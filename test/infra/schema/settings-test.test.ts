import { join } from 'node:path'
import t, { type Test } from 'tap'
import { doctor } from '../../../infra/commands/doctor.js'
import { migrateStore } from '../../../infra/commands/migrate.js'
import { testSettings } from '../../../infra/schema/settings-test.js'
import { openHome } from '../../../infra/stack/home.js'
import { demoProfilePath, readProfile } from '../../../infra/stack/profile-file.js'
import { startServers } from '../../../infra/stack/servers.js'
import { createLog } from '../../../infra/telemetry/log.js'
import { createStore, type StoreAddress } from '../../../pipeline/store/clickhouse.js'
import { migratedStore } from '../../pipeline/customers/registering.js'
import { createProxy, withProfile } from '../../pipeline/store/proxy.js'
import { createFolder } from '../../rig/folder.js'
import { commandContext } from '../command-line.js'

const { address: writer } = await migratedStore(t)
const reader = { ...writer, username: 'reader', password: 'r' }

/** The address of a user who has settings of its own, as by a profile of the server. */
async function addressWith(t: Test, user: StoreAddress, settings: Record<string, string>) {
  const url = await createProxy(t, user.url, withProfile(settings))
  return { ...user, url }
}

async function tested(t: Test, address: StoreAddress): Promise<void> {
  const store = createStore(address)
  t.teardown(() => store.close())
  await testSettings(store)
}

const withUser = ({ url, username, password }: StoreAddress) =>
  url.replace('://', `://${username}:${password}@`)

t.test('a user with the settings of ClickHouse, or with harmless ones, is accepted', async (t) => {
  const harmless = { max_threads: '1', log_queries: '0' }
  await t.resolves(tested(t, writer))
  await t.resolves(tested(t, reader))
  await t.resolves(tested(t, await addressWith(t, writer, harmless)))
})

t.test('settings that change what statements return are named with what to set', async (t) => {
  const cut = { max_result_rows: '1', max_rows_to_read: '1' }
  const own = { join_use_nulls: '1', result_overflow_mode: 'break', read_overflow_mode: 'break' }
  const { username } = writer
  await t.rejects(tested(t, await addressWith(t, writer, { ...cut, ...own })), {
    code: 'STORE_REFUSED',
    detail: `with the settings of user ${username} statements would return other rows: join_use_nulls = 1, read_overflow_mode = 'break', result_overflow_mode = 'break'; change its settings profile, or run ALTER USER \`${username}\` MODIFY SETTINGS join_use_nulls = 0, read_overflow_mode = 'throw', result_overflow_mode = 'throw'`,
  })
})

t.test('a start, a migration and the doctor refuse them', async (t) => {
  const home = openHome(createFolder(t))
  const clickhouseUrl = withUser(await addressWith(t, writer, { join_use_nulls: '1' }))
  const refused = { code: 'STORE_REFUSED', message: /join_use_nulls = 1; change its settings/ }
  const external = { clickhouseUrl, redisUrl: 'redis://127.0.0.1:1' }
  const profile = readProfile(demoProfilePath)
  const log = createLog(join(home.logs, 'test.log'), 'test')
  await t.rejects(startServers({ home, profile, log, external }, []), refused)
  const lines: string[] = []
  const context = { ...commandContext(home.path, (line) => lines.push(line)), external }
  await t.rejects(migrateStore(context, {}), refused)
  t.equal(await doctor(context), 1)
  t.match(lines.join('\n'), /✗ ClickHouse +STORE_REFUSED: with the settings of user .* = 1; change/)
})

t.test('the doctor tests the user who reads, too', async (t) => {
  const lines: string[] = []
  const own = await addressWith(t, reader, { join_use_nulls: '1' })
  const external = { clickhouseUrl: withUser(writer), clickhouseReaderUrl: withUser(own) }
  await doctor({ ...commandContext(createFolder(t), (line) => lines.push(line)), external })
  t.match(lines.join('\n'), /✗ ClickHouse +STORE_REFUSED: with the settings of user reader /)
})
