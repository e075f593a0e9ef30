/**
 * # 6.3 All account numbers change
 *
 * What: The CIS renumbers its accounts overnight; the first file with unknown numbers says so.
 * Why: Nobody moved: no history may go, and nobody may wonder why the new reads are missing.
 * Try: Load reads of registered meters under unknown accounts and read the receipt's notes.
 */
import t from 'tap'
import { register } from '../../../pipeline/customers/registrations.js'
import { customerAt, registeringAt } from '../../pipeline/customers/registering.js'
import { header, openStory } from '../rig/stack.js'

const story = await openStory(t)
const meters = Array.from({ length: 40 }, (_, at) => String(at + 100))

const registerAll = (prefix: string) =>
  register(
    registeringAt(story.store),
    meters.map((meterId) => {
      return customerAt({ clientId: `C${meterId}`, accountNumber: `${prefix}${meterId}`, meterId })
    }),
  )
const load = async (name: string, day: number, prefixOf: (meterId: string) => string) => {
  const rows = meters.flatMap((meterId) =>
    [1, 2, 3].map(
      (hour) => `${prefixOf(meterId)}${meterId},S,${meterId},6/${day}/2024 ${hour}:00,1`,
    ),
  )
  const receipt = await story.loadBytes(name, [header, ...rows, ''].join('\n'))
  t.match(receipt, { status: 'published' })
  return (receipt as { notes?: readonly string[] }).notes ?? []
}
const visible = async () => {
  const [row] = await story.reader.rows<{ reads: number; customers: number }>({
    sql: `SELECT toUInt32(count()) AS reads, toUInt32(uniqExact(client_ids)) AS customers
      FROM registered_usage`,
  })
  return row
}

t.test('one or two unknown accounts are new tenants', async (t) => {
  await registerAll('1')
  const notes = await load('DEMO_02062024_Electric.csv', 1, (meterId) =>
    meterId === '100' || meterId === '101' ? '2' : '1',
  )
  t.notMatch(notes.join('\n'), /renumbering/)
  t.same(await visible(), { reads: 38 * 3, customers: 38 })
})

t.test('unknown accounts at more than 5 % of the meters are likely a renumbering', async (t) => {
  const notes = await load('DEMO_03062024_Electric.csv', 2, () => '3')
  t.match(notes[0], /^likely a renumbering: 40 of 40 registered meters .* register the customers/)
  t.same(await visible(), { reads: 38 * 3, customers: 38 }, 'nothing has gone, nothing is guessed')
  const ended = await story.reader.rows({
    sql: 'SELECT * FROM registration WHERE valid_to IS NOT NULL',
  })
  t.same(ended, [])
})

t.test('registered with their new numbers, the customers have all their reads', async (t) => {
  await registerAll('3')
  t.same(await visible(), { reads: 38 * 3 + 40 * 3, customers: 40 })
  const notes = await load('DEMO_04062024_Electric.csv', 3, () => '3')
  t.notMatch(notes.join('\n'), /renumbering/)
})
