import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateBucketCommand, ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import t from 'tap'
import { openHome } from '../../../infra/stack/home.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import { createFolder } from '../../rig/folder.js'
import { createSmallDisk } from '../../rig/small-disk.js'
import { until } from '../../story/rig/stack.js'
import { migratedStore } from '../customers/registering.js'
import { startWorker } from '../machines/worker.js'
import { createBroker } from '../queues/broker.js'
import { dailyFiles } from './daily-files.js'
import { putObject } from './servers/s3-put.js'
import { createS3Server } from './servers/s3-server.js'
import { createSshd } from './servers/sshd.js'

const sshd = await createSshd(createFolder(t))
t.teardown(() => sshd.close())
const s3 = await createS3Server()
t.teardown(() => s3.close())
const at = { Bucket: 'drop', prefix: 'usage/' }
const endpoint = `http://127.0.0.1:${s3.port}`
const client = new S3Client({
  region: 'us-east-1',
  endpoint,
  forcePathStyle: true,
  credentials: { accessKeyId: 'sender', secretAccessKey: 'secret' },
})
t.teardown(() => client.destroy())
await client.send(new CreateBucketCommand({ Bucket: at.Bucket }))
/** The folder of the SFTP source. */
const sender = createFolder(t)
const disk = createSmallDisk(t, 96)
const { machine, ...folders } = openHome(join(disk.path, 'home'))
const profile = parseProfile({
  companyCodes: ['DEMO'],
  timeZone: 'America/Detroit',
  sources: [
    {
      kind: 's3',
      name: 'lake',
      bucket: at.Bucket,
      prefix: at.prefix,
      endpoint,
      pathStyle: true,
      accessKeyId: { env: 'KEY' },
      secretAccessKey: { env: 'SECRET' },
      pollSeconds: 1,
    },
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
const { redis, newQueues } = await createBroker(t)
const { queues } = newQueues(t, profile.database)
const worker = await startWorker(t, {
  profile,
  folders,
  machine,
  store: store.address,
  redisUrl: redis.url,
  secret: (reference) => ('file' in reference ? readFileSync(reference.file, 'utf8') : ''),
})
t.teardown(() => worker.close())

const meters = 2_000
const { send, textOf, nameOf } = dailyFiles(sender, meters)

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

interface Remote {
  /** Sends the file of a day; returns its name. */
  readonly send: (day: number) => Promise<string>
  readonly isThere: (file: string) => Promise<boolean>
}

const remotes: Readonly<Record<string, Remote>> = {
  SFTP: { send: async (day) => send(day), isThere: async (file) => existsSync(join(sender, file)) },
  S3: {
    send: async (day) => {
      const name = nameOf(day)
      const where = { Bucket: at.Bucket, Key: `${at.prefix}${name}` }
      await putObject(client, where, Buffer.from(textOf(day)))
      return name
    },
    isThere: async (file) => {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: at.Bucket }))
      return Contents.some(({ Key }) => Key === `${at.prefix}${file}`)
    },
  },
}

interface Moment {
  /** The disk is filled when so many bytes of the file and its chunks are there. */
  readonly landedBytes: number
}

const moments: Readonly<Record<string, Moment>> = {
  'before it comes': { landedBytes: 0 },
  'while it comes': { landedBytes: 1_000_000 },
  'while it is read': { landedBytes: 8_500_000 },
}
const cases = Object.entries(remotes).flatMap(([kind, remote]) =>
  Object.entries(moments).map(([name, moment]) => ({
    title: `${name} by ${kind}`,
    ...remote,
    ...moment,
  })),
)

for (const [index, { title, send, isThere, landedBytes }] of cases.entries()) {
  const day = index + 1
  t.test(`a disk that is full ${title}: the file waits at its source, and is loaded`, async (t) => {
    if (landedBytes === 0) disk.fill()
    const file = await send(day)
    if (landedBytes > 0) {
      while (landed() < landedBytes) await sleep(1)
      disk.fill()
    }
    await until(isWaiting)
    disk.fill()
    await sleep(2_000)
    t.ok(await isThere(file), 'it is at its source')
    t.equal(await readsOf(day), 0, 'nothing of it is seen')
    disk.free()
    await until(async () => {
      const reads = await readsOf(day)
      if (reads !== 0) t.equal(reads, meters * 96, 'all of it is seen')
      return reads === meters * 96
    })
    await until(async () => !(await isThere(file)))
    const kept = readdirSync(folders.archive).filter((one) => one.endsWith(`-${file}`))
    t.equal(kept.length, 1)
    const text = readFileSync(join(folders.archive, kept[0] ?? ''), 'utf8')
    t.equal(text, textOf(day), 'it is kept whole')
    await until(() => landed() === 0)
    await until(async () => !(await isWaiting()))
  })
}
