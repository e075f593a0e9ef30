/**
 * # 6.1 A tenant moves
 *
 * What: A new account at a meter is a move; each tenant sees only his own reads.
 * Why: A reader must never see what another household used.
 * Try: Load reads of two accounts at one meter and query `tenancy_event`.
 */
import t from 'tap'
import { register } from '../../../pipeline/customers/registrations.js'
import { type At, customerAt, registeringAt } from '../../pipeline/customers/registering.js'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t)

const known = (at: Omit<At, 'meterId'>) =>
  register(registeringAt(story.store), [customerAt({ ...at, meterId: 'M' })])
const old = { clientId: 'olga', accountNumber: '100' }
const next = { clientId: 'nina', accountNumber: '200' }

let files = 0
const load = (...rows: readonly string[]) => {
  files++
  const name = `DEMO_${String(files).padStart(2, '0')}062024_Electric.csv`
  return story.loadBytes(name, [header, ...rows, ''].join('\n'))
}
/** A read of the hour, on 1 June. */
const row = (account: string, hour: number) => `${account},S,M,6/1/2024 ${hour}:00,${hour}`
/** Whose each read is, by hour. */
const owners = async () => {
  const rows = await story.reader.rows<{ hour: number; who: string }>({
    sql: `SELECT local_hour AS hour, arrayStringConcat(client_ids, '+') AS who
      FROM registered_usage ORDER BY hour`,
  })
  return Object.fromEntries(rows.map(({ hour, who }) => [hour, who]))
}

t.test(
  'a read is his whose account it carries; of an unknown account it is nobody’s',
  async (t) => {
    await known(old)
    await load(row('100', 1), row('100', 2), row('?', 3))
    t.same(await owners(), { 1: 'olga', 2: 'olga' })
  },
)

t.test('a new account at the meter is a move, which starts with its first read', async (t) => {
  await load(row('200', 10), row('200', 11))
  await known(next)
  await load(row('?', 9), row('?', 12), row('?', 13))
  t.same(await owners(), { 1: 'olga', 2: 'olga', 10: 'nina', 11: 'nina' })
  const [event, ...others] = await story.reader.rows({
    sql: 'SELECT * FROM tenancy_event ORDER BY kind',
  })
  t.match(others, [{ kind: 'suspected', old_account_number: '100', new_account_number: '?' }])
  t.match(event, {
    kind: 'move',
    external_site_id: 'S',
    meter_id: 'M',
    old_account_number: '100',
    new_account_number: '200',
    client_ids: ['olga', 'nina'],
    at: '2024-06-01 14:00:00.000',
    local_day: '2024-06-01',
    evidence: /first interval with the new account/,
  })
  const tenancies = await story.reader.rows({
    sql: 'SELECT client_id, valid_from, valid_to FROM registration ORDER BY account_number',
  })
  t.same(tenancies, [
    { client_id: 'olga', valid_from: null, valid_to: '2024-06-01 14:00:00' },
    { client_id: 'nina', valid_from: '2024-06-01 14:00:00', valid_to: null },
  ])
})

t.test('late reads go to whose they are, on either side of the move', async (t) => {
  await load(row('100', 4), row('100', 14), row('200', 15))
  const found = await owners()
  t.match(found, { 4: 'olga', 14: 'olga', 15: 'nina' })
})

t.test('reads of the old tenant behind the move take it back', async (t) => {
  const events = await story.reader.rows<{ kind: string }>({
    sql: `SELECT kind FROM tenancy_event WHERE old_account_number = '100' ORDER BY kind`,
  })
  t.match(
    events.map(({ kind }) => kind),
    ['move', 'suspected', 'withdrawn'],
  )
  const tenancies = await story.reader.rows({
    sql: `SELECT valid_to FROM registration WHERE account_number = '100'`,
  })
  t.same(tenancies, [{ valid_to: null }])
})

t.test('an earlier read of the new tenant moves the start', async (t) => {
  await load(row('200', 8))
  t.match(await owners(), { 8: 'nina' })
  const [event] = await story.reader.rows({
    sql: `SELECT at FROM tenancy_event WHERE kind = 'move'`,
  })
  t.same(event, { at: '2024-06-01 12:00:00.000' })
})

t.test('the new tenant never sees a read of the old one', async (t) => {
  const rows = await story.reader.rows({
    sql: `SELECT * FROM registered_usage WHERE has(client_ids, 'nina')
      AND account_number != '200'`,
  })
  t.same(rows, [])
  const [counted] = await story.reader.rows({
    sql: `SELECT (SELECT toUInt32(count()) FROM registered_usage) AS registered,
      (SELECT toUInt32(count()) FROM usage) AS stored`,
  })
  t.same(counted, { registered: 8, stored: 12 }, 'each read is one row')
})

t.test('whose reads they are does not change with another record', async (t) => {
  const before = await owners()
  await known(old)
  await known(next)
  await known({ ...next, clientId: 'noah' })
  t.same(
    await owners(),
    Object.fromEntries(
      Object.entries(before).map(([hour, who]) => [hour, who === 'nina' ? 'nina+noah' : who]),
    ),
  )
})
