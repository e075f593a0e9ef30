import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Test, t } from 'tap'
import { demoCertificates } from '../../../infra/demo/certificates.js'
import { askRedis, checkRedis } from '../../../infra/redis/ask.js'
import { externalRedis } from '../../../infra/stack/addresses.js'
import { createConsumer, createQueues } from '../../../pipeline/queues/bullmq.js'
import { shownRedisUrl } from '../../../pipeline/queues/redis-url.js'
import { freePort } from '../../api/identity/provider.js'
import { createFolder } from '../../rig/folder.js'

const { caFile, certFile, keyFile, clientCertFile, clientKeyFile } = demoCertificates(
  createFolder(t),
)
const redisTls = { caFile, certFile: clientCertFile, keyFile: clientKeyFile }
const user = 'user tieline on >server%secret ~* &* +@all'
const [primary, replica, watcher] = [await freePort(), await freePort(), await freePort()]
const servers: ChildProcess[] = []

/** A server that speaks TLS only and demands a certificate of its clients. */
function startRedis(
  t: Test,
  port: number,
  own: readonly string[],
  mode: readonly string[] = [],
): ChildProcess {
  const folder = createFolder(t)
  const tls = [`tls-cert-file ${certFile}`, `tls-key-file ${keyFile}`, `tls-ca-cert-file ${caFile}`]
  const shows = [`tls-client-cert-file ${clientCertFile}`, `tls-client-key-file ${clientKeyFile}`]
  const secure = ['port 0', `tls-port ${port}`, 'tls-replication yes', ...tls, ...shows]
  const config = join(folder, 'redis.conf')
  writeFileSync(config, `${[`dir ${folder}`, ...secure, ...own].join('\n')}\n`)
  const server = spawn('redis-server', [config, ...mode], { stdio: 'ignore' })
  t.teardown(() => server.kill('SIGKILL'))
  servers.push(server)
  return server
}

const urlOf = (redisUrl: string) => externalRedis({ redisUrl, redisTls }) as string

async function until(reached: () => Promise<boolean>): Promise<void> {
  while (!(await reached().catch(() => false))) {
    if (servers.some(({ exitCode }) => exitCode !== null)) throw new Error('a server ended')
    await sleep(100)
  }
}

t.test('jobs go on when Sentinel promotes a replica, over TLS and with an ACL user', async (t) => {
  const follows = [`replicaof 127.0.0.1 ${primary}`, 'masteruser tieline']
  const auth = ['masterauth server%secret', 'repl-diskless-sync-delay 0']
  const first = startRedis(t, primary, [user, 'user default off', 'masteruser tieline', ...auth])
  startRedis(t, replica, [user, 'user default off', ...follows, ...auth])
  const alone = urlOf(`rediss://tieline:server%25secret@127.0.0.1:${primary}`)
  await until(async () => /state=online/.test(await askRedis(alone, 'INFO', 'replication')))
  const watch = [
    `sentinel monitor power 127.0.0.1 ${primary} 1`,
    'sentinel auth-user power tieline',
    'sentinel auth-pass power server%secret',
    'sentinel down-after-milliseconds power 1000',
  ]
  startRedis(t, watcher, ['requirepass looks', ...watch], ['--sentinel'])
  const sentinel = urlOf(`rediss://:looks@127.0.0.1:${watcher}`)
  await until(async () => /slaves=1/.test(await askRedis(sentinel, 'INFO')))

  const hosts = `127.0.0.1:1,127.0.0.1:${watcher}`
  const redisUrl = urlOf(
    `rediss+sentinel://tieline:server%25secret@${hosts}/power?sentinelPassword=looks`,
  )
  t.equal(shownRedisUrl(redisUrl), `rediss+sentinel://${hosts}/power`)
  await checkRedis(redisUrl)
  const done: number[] = []
  const queues = createQueues({ redisUrl, prefix: 'watched' })
  const consumer = createConsumer({
    ...{ redisUrl, prefix: 'watched', name: 'settle', concurrency: 1, attemptsMax: 3 },
    run: async ({ arrival }) => void done.push(arrival),
    fail: async () => undefined,
    onFailure: () => undefined,
    onDone: () => undefined,
  })
  t.teardown(() => Promise.all([queues.close(), consumer.close()]))
  // A promotion may lose what the replica had not received yet: whoever needs the job adds it again.
  const run = (arrival: number) =>
    until(async () => {
      await queues.add('settle', { v: 1, arrival })
      return done.includes(arrival)
    })
  await run(1)

  first.kill('SIGKILL')
  await run(2)
  t.match(await askRedis(redisUrl, 'CONFIG', 'GET', 'tls-port'), String(replica))
})

t.test('what does not fit together is refused without the password', async (t) => {
  const refused: readonly (readonly [url: string, message: RegExp])[] = [
    ['redis+cluster://:hush@h', /^CONFIG: REDIS_URL must be redis:/],
    ['redis+sentinel://:hush@h:26379', /must end with \/NAME of the primary/],
    ['redis://:hush@h:x', /REDIS_URL is not a URL/],
    ['redis://:hush@h:1', /must begin with rediss to use the REDIS_\.\.\._FILE/],
  ]
  for (const [url, message] of refused) {
    t.throws(() => urlOf(url), { code: 'CONFIG', message })
    t.throws(() => urlOf(url), { message: /^(?!.*hush)/ })
  }
  const gone = () => externalRedis({ redisUrl: 'rediss://h', redisTls: { caFile: '/gone.pem' } })
  t.throws(gone, { message: /REDIS_CA_FILE \/gone\.pem cannot be read/ })
})
