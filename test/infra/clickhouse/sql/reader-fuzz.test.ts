import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { createFolder } from '../../../rig/folder.js'
import { randomFrom, sample } from '../../../rig/sample.js'
import { ask, reader, rowsOf, running, writer } from '../running.js'
import { canaryPort } from './canary-port.js'
import { type Attack, createAttacks } from './reader-attack.js'
import { fill, places, tablePlaces } from './reader-forms.js'

const { store, client, dataPath } = await running(t, {
  readable: ['default.shown', 'default.beneath'],
})
const rows = rowsOf(client)
for (const query of [
  "CREATE TABLE hidden ENGINE = MergeTree ORDER BY x AS SELECT 'hiddenvalue' AS x",
  "CREATE TABLE beneath ENGINE = MergeTree ORDER BY x AS SELECT 'shown value' AS x",
  'CREATE VIEW shown AS SELECT length(x) AS n FROM beneath',
])
  await client.command({ query })

const folder = mkdtempSync(join(createFolder(t), 'canary-'))
const canary = join(folder, 'canary.csv')
const written = join(folder, 'written')
writeFileSync(canary, 'canaryvalue\n')
const before = new Date('2020-01-01')
/** A file that was last read before it was written gets the time of the next read (`relatime`). */
const setUnread = () => utimesSync(canary, before, new Date('2021-01-01'))
const isRead = () => statSync(canary).atimeMs !== before.getTime()

let current = ''
const calls: string[] = []
const port = await canaryPort(t, () => calls.push(current))
const url = `http://127.0.0.1:${port}/x`
const host = `127.0.0.1:${port}`

const namesOf = async (table: string) =>
  (await rows<{ name: string }>(`SELECT name FROM system.${table} ORDER BY name`))
    .map(({ name }) => name)
    .filter((name) => !name.startsWith('sleep'))
const functions = await namesOf('functions')
const tableFunctions = await namesOf('table_functions')
const settings = await namesOf('settings')
const formats = await namesOf('formats')

const seed = Date.now() & 0x7fffffff
const random = randomFrom(seed)
const secret = { canary, url, host, written }
const attack = createAttacks(random, secret, { functions, tableFunctions, settings, formats })

const leaks = (text: string) => /canaryvalue|hiddenvalue|INSERT INTO hidden/.test(text)

async function send({ query, search = {}, headers = {}, form }: Attack, as = reader) {
  const address = `${store.url}/?${new URLSearchParams({ max_execution_time: '2', ...search })}`
  const body =
    form === undefined
      ? query
      : Object.entries(form).reduce((data, [name, value]) => {
          data.append(name, value)
          return data
        }, new FormData())
  // A header holds no character outside of Latin-1, and no line break.
  const fields = Object.entries(headers).map(([name, value]) => [
    name,
    value.replace(/[^ -~]/g, ''),
  ])
  const response = await ask(address, {
    method: 'POST',
    body,
    as,
    headers: Object.fromEntries(fields),
  })
  return response.text()
}

t.test('as the writer, the same forms read, write and call', async (t) => {
  let read = 0
  for (const place of Object.values(places)) {
    setUnread()
    const parts = { E: `file('${canary}')`, N: 'file', C: canary, W: `${written}-${read}` }
    await send({ query: fill(place, parts) }, writer)
    if (isRead()) read++
  }
  t.ok(read > 60, `${read} of ${Object.keys(places).length} places of an expression`)
  let seen = 0
  for (const place of Object.values(tablePlaces)) {
    setUnread()
    await send({ query: fill(place, { T: `file('${canary}', 'CSV')`, W: `${written}-t` }) }, writer)
    if (isRead()) seen++
  }
  t.ok(seen > 12, `${seen} of ${Object.keys(tablePlaces).length} places of a table`)
  const search = { http_max_tries: '1' }
  await send({ query: `SELECT * FROM url('${url}', 'CSV', 'a String')`, search }, writer)
  t.ok(calls.length > 0)
  calls.length = 0
})

t.test('no form of a statement makes a reader read, write or call', async (t) => {
  writeFileSync(canary, 'canaryvalue\n')
  setUnread()
  const files = readdirSync(folder)
  const count = sample({ short: 1_500, long: 30_000 })
  let refused = 0
  let left = count
  const run = async () => {
    while (left-- > 0) {
      const made = attack()
      current = JSON.stringify(made)
      const text = await send(made)
      if (text.startsWith('Code: ')) refused++
      if (leaks(text)) t.fail(`${current}: ${text}`)
      if (isRead()) {
        t.fail(`the file was read, near ${current}`)
        setUnread()
      }
    }
  }
  await Promise.all(Array.from({ length: 4 }, run))
  t.comment(`seed ${seed}: ${count} attacks, ${refused} refused`)
  t.ok(refused > count / 2, `${refused} of ${count} are refused`)
  t.same(calls, [])
  t.same(readdirSync(folder), files)
  t.same(readdirSync(join(dataPath, 'empty')), [])
  t.equal(readFileSync(canary, 'utf8'), 'canaryvalue\n')
})
