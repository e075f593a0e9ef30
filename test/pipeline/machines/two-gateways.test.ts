import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { randomFrom, sample } from '../../rig/sample.js'
import { header, until } from '../../story/rig/stack.js'
import {
  type Call,
  clientsOfGateway,
  createIntakeProcesses,
  createSight,
  type Gateway,
  push,
} from '../intake/gateways.js'

const kills = sample({ short: 2, long: 60 })
const seed = Date.now() % 1_000_000
const random = randomFrom(seed)
const below = (limit: number) => Math.floor(random() * limit)
const rowsOfCallMax = 40

const { home, store, createGateway, start } = await createIntakeProcesses(t)
const { rows: ask, readRows, readFiles, isOdd, untilRead, untilSettled } = createSight(store)
const gateways = [await createGateway(), await createGateway()]
for (const gateway of gateways) await start(gateway)

const calls: Call[] = []
let [meters, isOver] = [0, false]

async function send(gateway: Gateway): Promise<void> {
  while (!isOver) {
    const names = Array.from({ length: 1 + below(rowsOfCallMax) }, () => `M${++meters}`)
    const call = await push(gateway, { header, meters: names })
    calls.push(call)
    if (call.status !== 202) await sleep(20)
  }
}

/** Kills a gateway at random moments, some of them while it starts. */
async function kill(gateway: Gateway, times: number): Promise<void> {
  for (let at = 0; at < times; at++) {
    await sleep(below(2_500))
    const { child } = gateway
    if (child === undefined) throw new Error('the gateway is not running')
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await start(gateway)
  }
}

/** Files of which a reader sees some reads and not all. */
const readHalves = () =>
  ask<object>(`SELECT f.arrival, f.rows_accepted, s.rows FROM file_state AS f FINAL
    INNER JOIN (SELECT toUInt32(bitShiftRight(version, 32)) AS arrival, count() AS rows
      FROM usage_read GROUP BY arrival) AS s ON s.arrival = f.arrival
    WHERE s.rows != f.rows_accepted`)

t.test('rows that were pushed while gateways were killed are published once', async (t) => {
  t.comment(`seed ${seed}`)
  const sent = gateways.flatMap((gateway) =>
    Array.from({ length: clientsOfGateway }, () => send(gateway)),
  )
  const watched = (async () => {
    const halves: object[] = []
    while (!isOver) {
      halves.push(...(await readHalves()))
      await sleep(500)
    }
    return halves
  })()
  await Promise.all(gateways.map((gateway) => kill(gateway, kills / gateways.length)))
  isOver = true
  await Promise.all(sent)
  t.same(await watched, [], 'no file was half seen')

  const answered = calls.filter(({ status }) => status === 202)
  const open = calls.filter(({ status }) => status === undefined)
  t.equal(answered.length + open.length, calls.length, 'no call is answered otherwise')
  const known = new Set(answered.flatMap((call) => call.meters))
  await untilRead(known.size)
  // Rows that nobody answered are taken over from the dead after two seconds.
  await until(() => readdirSync(home.pushed).length === 0)
  await untilSettled()
  const rows = await readRows()
  const found = new Set(rows.map(({ meter }) => meter))
  t.ok(
    [...known].every((meter) => found.has(meter)),
    'no row is lost',
  )
  t.same(rows.filter(isOdd), [], 'none is doubled, and each is what was sent')
  const files = await readFiles()
  t.match(files, [{ status: 'published', rejected: '0', duplicate: '0' }])
  t.equal(files.length, 1, 'no file came in twice')
  t.comment(`${kills} kills; ${answered.length} calls answered with ${known.size} rows,
    ${open.length} not, with ${found.size - known.size} published rows; ${files[0]?.files} files`)

  for (const { meters } of open)
    t.equal((await push(gateways[meters.length % 2] as Gateway, { header, meters })).status, 202)
  await untilRead(meters)
  await untilSettled()
  t.same((await readRows()).filter(isOdd), [], 'nor when they are pushed again')
})
