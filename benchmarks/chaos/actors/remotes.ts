import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { copyFile, readFile, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { draw } from '../../../infra/demo/draw.js'
import type { SecretReference } from '../../../schemas/settings/secret.js'
import { type Between, createProxy } from '../../../test/pipeline/sources/servers/proxy.js'
import { putObject } from '../../../test/pipeline/sources/servers/s3-put.js'
import { createS3Server } from '../../../test/pipeline/sources/servers/s3-server.js'
import { createSshd } from '../../../test/pipeline/sources/servers/sshd.js'

/** An SFTP server and an S3 server that files are pulled from, behind proxies that cut. */
export interface Remotes {
  readonly sources: readonly object[]
  readonly secret: (reference: SecretReference) => string
  put(way: 'sftp' | 's3', path: string, name: string): Promise<void>
  /** Connections that were cut, or kept from being made. */
  cuts(): number
  /** Cuts no more, so that what is on its way can end. */
  rest(): Promise<void>
  close(): Promise<void>
}

const streams = { pause: 31, target: 32, bytes: 33, away: 34 } as const
const pauseMsMax = 2_000
const awayMsMax = 1_000
const cutBytesMax = 400_000
const Bucket = 'chaos'
const timeoutMs = 5_000

export async function createRemotes(seed: number): Promise<Remotes> {
  const folder = mkdtempSync(join(tmpdir(), 'tieline-chaos-remotes-'))
  const outgoing = join(folder, 'outgoing')
  mkdirSync(outgoing)
  const [sshd, s3] = await Promise.all([createSshd(folder), createS3Server()])
  const host = '127.0.0.1'
  const proxies = await Promise.all(
    [sshd.port, s3.port].map((port) => createProxy({ target: { host, port } })),
  )
  const [sftpProxy, s3Proxy] = proxies as [Between, Between]
  const credentials = { accessKeyId: 'chaos', secretAccessKey: 'chaos' }
  const endpoint = `http://${host}:${s3.port}`
  const client = new S3Client({ region: 'us-east-1', endpoint, forcePathStyle: true, credentials })
  await client.send(new CreateBucketCommand({ Bucket }))
  const cutter = createCutter(proxies, seed)
  const polled = { pollSeconds: 1, timeoutMs } as const
  const key = { accessKeyId: { env: 'CHAOS' }, secretAccessKey: { env: 'CHAOS' } }
  const served = { endpoint: `http://${host}:${s3Proxy.port}`, pathStyle: true }
  return {
    sources: [
      {
        kind: 'sftp',
        name: 'mdm',
        host,
        port: sftpProxy.port,
        ...sshd.login,
        path: outgoing,
        ...polled,
      },
      { kind: 's3', name: 'lake', bucket: Bucket, ...served, ...key, ...polled },
    ],
    secret: (reference) => ('file' in reference ? readFileSync(reference.file, 'utf8') : 'chaos'),
    put: async (way, path, name) => {
      if (way === 's3') return putObject(client, { Bucket, Key: name }, await readFile(path))
      await copyFile(path, join(outgoing, `${name}.part`))
      await rename(join(outgoing, `${name}.part`), join(outgoing, name))
      writeFileSync(join(outgoing, `${name}.done`), '')
    },
    cuts: cutter.cuts,
    rest: cutter.rest,
    close: async () => {
      await cutter.rest()
      client.destroy()
      for (const one of [...proxies, sshd, s3]) await one.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** By turns a connection ends in the middle of what it carries, and a server is away for a while. */
function createCutter(proxies: readonly Between[], seed: number) {
  let cuts = 0
  let isResting = false
  const work = async () => {
    for (let index = 0; !isResting; index++) {
      const pick = (stream: number, max: number) => draw(seed, stream, index) % max
      const proxy = proxies[pick(streams.target, proxies.length)]
      if (index % 2 === 0) proxy?.cutAfter(pick(streams.bytes, cutBytesMax))
      else proxy?.down()
      cuts++
      await sleep(pick(streams.away, awayMsMax))
      proxy?.pass()
      await sleep(pick(streams.pause, pauseMsMax))
    }
  }
  const working = work()
  return {
    cuts: () => cuts,
    rest: async () => {
      isResting = true
      await working
    },
  }
}
