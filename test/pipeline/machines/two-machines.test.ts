import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { judgeMachines } from '../../../infra/checks/erasures.js'
import { createSubmission } from '../../../pipeline/intake/submit.js'
import { forgetMachine, hasReported } from '../../../pipeline/machine.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'
import { migratedStore } from '../customers/registering.js'
import { createBroker } from '../queues/broker.js'
import { dailyFiles } from '../sources/daily-files.js'

const folder = createFolder(t)
const inbox = join(folder, 'shared')
mkdirSync(inbox)
const profile = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  sources: [{ kind: 'folder', name: 'inbox', path: inbox, pollSeconds: 1, settlePolls: 2 }],
  limits: { chunkBytes: '1 MB', freeDiskBytesMin: '0 B' },
})
const store = await migratedStore(t)
const { redis } = await createBroker(t)

const program = fileURLToPath(new URL('worker-process.js', import.meta.url))
const shared = JSON.stringify({ profile, store: store.address, redisUrl: redis.url })
/** The workers by their machine. */
const workers = new Map<string, ChildProcess>()
async function start(name: string): Promise<string> {
  const worker = fork(program, [join(folder, name), shared])
  t.teardown(() => worker.kill('SIGKILL'))
  const [machine] = (await once(worker, 'message')) as [string]
  workers.set(machine, worker)
  return machine
}
async function stop(machine: string): Promise<void> {
  const worker = workers.get(machine)
  if (worker === undefined) return
  const exited = once(worker, 'exit')
  worker.kill('SIGKILL')
  await exited
}
const machines = { a: await start('a'), b: await start('b') }

const meters = 1_500
const { send } = dailyFiles(inbox, meters)

const one = async <T>(sql: string): Promise<T | undefined> => (await store.rows<T>({ sql }))[0]

const settled = async (name: string) =>
  (await one<{ status: string }>(`SELECT status FROM file_state FINAL
    WHERE file_name = '${name}' AND settled_at IS NOT NULL`)) !== undefined

const readsOf = (day: number) =>
  one(`SELECT toString(count()) AS reads, toString(toFloat64(sum(quantity))) AS energy
    FROM usage WHERE local_day = '2026-03-0${day}'`)
const whole = { reads: String(meters * 96), energy: String(meters * 48) }

/** The machine that a file has landed on, once some of its chunks are loaded. */
async function untilLoading(name: string): Promise<string> {
  type Found = { readonly machine: string }
  let found: Found | undefined
  await until(async () => {
    found = await one<Found>(`SELECT JSONExtractString(manifest, 'machine') AS machine
      FROM file_state FINAL WHERE file_name = '${name}' AND status = 'received' AND arrival IN (
        SELECT arrival FROM chunk_receipt)`)
    return found !== undefined
  })
  return found?.machine ?? ''
}

const nameOf = (machine: string) => (machine === machines.a ? 'a' : 'b')

t.test('both machines report under ids of their own', async (t) => {
  t.not(machines.a, machines.b)
  t.match(await judgeMachines(store), { state: 'good' })
})

const machineOf = async (name: string) =>
  (
    await one<{ machine: string }>(`SELECT JSONExtractString(manifest, 'machine') AS machine
      FROM file_state FINAL WHERE file_name = '${name}'`)
  )?.machine ?? ''
const hasReceipt = (machine: string, name: string) =>
  existsSync(join(folder, nameOf(machine), 'outbox', `${name}.receipt.json`))

t.test('files are loaded and put away by the machines that they landed on', async (t) => {
  const names = [send(1), send(2), send(3)]
  for (const name of names) await until(() => settled(name))
  for (const day of [1, 2, 3]) t.same(await readsOf(day), whole)
  for (const name of names) {
    const own = await machineOf(name)
    const found = Object.values(machines).filter((machine) => hasReceipt(machine, name))
    t.same(found, [own], name)
  }
  const reland = await one(`SELECT 1 FROM chunk_receipt GROUP BY arrival, chunk HAVING count() > 1`)
  t.equal(reland, undefined, 'no chunk is loaded twice')
})

t.test(
  'a file that a person names is read and put away on the machine of that person',
  async (t) => {
    const desk = createFolder(t)
    const { send } = dailyFiles(desk, 1)
    const servers = { store: store.address, redisUrl: redis.url, profile }
    for (const [at, machine] of [machines.a, machines.b, machines.a, machines.b].entries()) {
      const submission = await createSubmission({ ...servers, machine })
      const name = send(at + 5)
      await submission.submit(join(desk, name))
      await until(() => settled(name))
      await submission.close()
      t.equal(await machineOf(name), machine, name)
      t.ok(hasReceipt(machine, name), name)
    }
  },
)

t.test('a file goes on when the machine that it landed on is gone', async (t) => {
  const name = send(4)
  const machine = await untilLoading(name)
  await stop(machine)
  await store.command({ sql: 'TRUNCATE TABLE machine' })
  const seen = (ago: number, id: string) => ({
    machine: id,
    host: 'host',
    seen_at: new Date(Date.now() - ago).toISOString(),
  })
  const [other = ''] = Object.values(machines).filter((id) => id !== machine)
  await store.insert('machine', [seen(120_000, machine), seen(0, other)])
  await until(() => settled(name))
  t.same(await readsOf(4), whole)
  t.match(await judgeMachines(store), { state: 'warning', detail: new RegExp(`^${machine} `) })

  const landing = join(folder, nameOf(machine), 'landing')
  t.not(readdirSync(landing).length, 0, 'its disk still has chunks')
  await start(nameOf(machine))
  await until(() => readdirSync(landing).length === 0)
  t.match(await judgeMachines(store), { state: 'good' })
})

t.test('a machine that is forgotten is waited for no longer', async (t) => {
  await stop(machines.b)
  t.ok(await hasReported(store, machines.b))
  await forgetMachine(store, machines.b)
  t.notOk(await hasReported(store, machines.b))
})
