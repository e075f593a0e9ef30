import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import t from 'tap'
import { createRedis } from '../../../infra/redis/start.js'
import { openHome } from '../../../infra/stack/home.js'
import { onFreePort } from '../../../infra/stack/port.js'
import { createQueues } from '../../../pipeline/queues/bullmq.js'
import { createWorker } from '../../../pipeline/worker.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { createSmallDisk } from '../../rig/small-disk.js'
import { until } from '../../story/rig/stack.js'
import { migratedStore } from '../customers/registering.js'
import { dailyFiles } from './daily-files.js'
import { createSshd } from './servers/sshd.js'

const sshd = await createSshd(createFolder(t))
t.teardown(() => sshd.close())
/** The folder of the source. */
const sender = createFolder(t)
const disk = createSmallDisk(t, 48)
const { machine, ...folders } = openHome(join(disk.path, 'home'))
const profile = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  sources: [
    {
      kind: 'sftp',
      name: 'mdm',
      host: '127.0.0.1',
      port: sshd.port,
      ...sshd.login,
      path: sender,
      pollSeconds: 1,
      settlePolls: 1,
    },
  ],
  limits: { chunkBytes: '1 MB', freeDiskBytesMin: '0 B' },
})
const store = await migratedStore(t)
const redis = await onFreePort(17_379 + Math.floor(Math.random() * 10_000), (port) =>
  createRedis({ dataPath: createFolder(t), port, password: 'secret' }),
)
t.teardown(() => redis.close())
const queues = createQueues({ redisUrl: redis.url, prefix: profile.database })
t.teardown(() => queues.close())
const worker = await createWorker({
  profile,
  folders,
  machine,
  store: store.address,
  redisUrl: redis.url,
  secret: (reference) => ('file' in reference ? readFileSync(reference.file, 'utf8') : ''),
  log: pino({ level: 'silent' }),
})
t.teardown(() => worker.close())

const meters = 2_000
const { send, textOf } = dailyFiles(sender, meters)

const readsOf = async (day: number) => {
  const [row] = await store.rows<{ reads: string }>({
    sql: `SELECT toString(count()) AS reads FROM usage WHERE local_day = '2026-03-0${day}'`,
  })
  return Number(row?.reads)
}
const isWaiting = async () => (await queues.waits()).some(({ code }) => code === 'DISK_FULL')
const landed = () =>
  readdirSync(folders.landing, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, { parentPath, name }) => {
      const found = statSync(join(parentPath, name), { throwIfNoEntry: false })
      return sum + (found?.size ?? 0)
    }, 0)

interface Moment {
  readonly day: number
  /** The disk is filled when so many bytes of the file and its chunks are there. */
  readonly landedBytes: number
}

const moments: Readonly<Record<string, Moment>> = {
  'before it comes': { day: 1, landedBytes: 0 },
  'while it comes': { day: 2, landedBytes: 1_000_000 },
  'while it is read': { day: 3, landedBytes: 8_500_000 },
}

for (const [name, { day, landedBytes }] of Object.entries(moments)) {
  t.test(`a disk that is full ${name}: the file waits at its source, and is loaded`, async (t) => {
    if (landedBytes === 0) disk.fill()
    const file = send(day)
    if (landedBytes > 0) {
      while (landed() < landedBytes) await sleep(1)
      disk.fill()
    }
    await until(isWaiting)
    disk.fill()
    await sleep(2_000)
    t.ok(existsSync(join(sender, file)), 'it is at its source')
    t.equal(await readsOf(day), 0, 'nothing of it is seen')
    disk.free()
    await until(async () => {
      const reads = await readsOf(day)
      if (reads !== 0) t.equal(reads, meters * 96, 'all of it is seen')
      return reads === meters * 96
    })
    await until(() => !existsSync(join(sender, file)))
    const kept = readdirSync(folders.archive).filter((one) => one.endsWith(`-${file}`))
    t.equal(kept.length, 1)
    const text = readFileSync(join(folders.archive, kept[0] ?? ''), 'utf8')
    t.equal(text, textOf(day), 'it is kept whole')
    await until(() => landed() === 0)
    await until(async () => !(await isWaiting()))
  })
}
