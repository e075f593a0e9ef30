import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { bytesText } from '../../infra/commands/output/table.js'
import { numberedMeters } from '../../infra/demo/customers.js'
import { usageFile } from '../../infra/demo/usage-file.js'
import { sourceSettings } from '../../schemas/settings/source.js'
import { putObject } from '../../test/pipeline/sources/servers/s3-put.js'
import { createS3Server } from '../../test/pipeline/sources/servers/s3-server.js'
import { createSshd, type Sshd } from '../../test/pipeline/sources/servers/sshd.js'
import { median } from '../usage/figures.js'
import { runFetch } from './run-fetch.js'

export interface SourcesBenchmark {
  readonly customers: number
  readonly rounds: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** What `--json` writes: medians in seconds, memory in MB (10^6 bytes). */
export interface SourcesFigures {
  readonly bytes: number
  readonly sftpSeconds: number
  readonly sftpProgramSeconds: number
  /** Speed over that of `sftp -b`. */
  readonly sftpOverProgram: number
  readonly s3Seconds: number
  readonly s3SdkSeconds: number
  /** Speed over that of the SDK's own streamed get to a file. */
  readonly s3OverSdk: number
  readonly rssMb: number
  readonly rounds: Readonly<Record<string, readonly number[]>>
}

const speedMin = 0.8
const credentials = { accessKeyId: 'bench', secretAccessKey: 'secret' }

type Runner = () => Promise<{
  readonly seconds: number
  readonly bytes: number
  readonly mb: number
}>

/**
 * Fetches one usage file from OpenSSH's server, as `sftp -b` does, and from an S3 server, as the SDK
 * does, in turn. Ours is on the disk when it has come; the others' is not.
 */
export async function measureSources(options: SourcesBenchmark): Promise<SourcesFigures> {
  const { print, json } = options
  const folder = mkdtempSync(join(tmpdir(), 'tieline-bench-sources-'))
  const closers: (() => Promise<void>)[] = []
  try {
    const figures = await measure(folder, options, closers)
    for (const [what, ratio] of [
      ['sftp over sftp -b', figures.sftpOverProgram],
      ["s3 over the SDK's get", figures.s3OverSdk],
    ] as const) {
      const reached = ratio >= speedMin ? 'reached' : 'MISSED'
      print(`${what} ${ratio.toFixed(2)}  ${reached}: ${speedMin}`)
    }
    print(`memory ${Math.round(figures.rssMb)} MB`)
    if (json) writeFileSync(json, `${JSON.stringify(figures, undefined, 2)}\n`)
    return figures
  } finally {
    for (const close of closers) await close()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(
  folder: string,
  { print, customers, rounds }: SourcesBenchmark,
  closers: (() => Promise<void>)[],
): Promise<SourcesFigures> {
  const remote = join(folder, 'remote')
  mkdirSync(remote)
  const path = join(remote, 'BENCH_05032026_Electric.csv')
  await usageFile(path, {
    meters: numberedMeters(customers),
    seed: 20_260_305,
    firstDay: '2026-03-04',
    days: 1,
    intervalSeconds: 900,
    zone: 'America/Detroit',
  })
  const { size } = statSync(path)
  print(`${bytesText(size)}`)
  print('estimate: sftp as fast as the program, for both ciphers keep a core busy; s3 as the SDK')
  const sshd = await createSshd(folder)
  closers.push(sshd.close)
  const s3 = await createS3(path)
  closers.push(s3.close)
  const runners: Readonly<Record<string, Runner>> = {
    'sftp -b': () => runProgram(sshd, { path, folder }),
    sftp: () => runFetch({ what: 'source', settings: sftpSettings(sshd, remote), folder }),
    sdk: () => runFetch({ what: 'sdk', client: s3.client, object: s3.object, folder }),
    s3: () => runFetch({ what: 'source', settings: s3.settings, folder }),
  }
  const seconds: Record<string, number[]> = {}
  let rssMb = 0
  for (let round = 1; round <= rounds; round++) {
    for (const [name, run] of Object.entries(runners)) {
      const done = await run()
      if (done.bytes !== size) throw new Error(`${name} fetched ${done.bytes} bytes of ${size}`)
      seconds[name] = [...(seconds[name] ?? []), done.seconds]
      rssMb = Math.max(rssMb, done.mb)
      print(`  ${name.padEnd(8)} ${done.seconds.toFixed(2)} s  ${speedOf(size, done.seconds)}`)
    }
  }
  return toFigures(size, rssMb, seconds)
}

function toFigures(
  bytes: number,
  rssMb: number,
  rounds: Readonly<Record<string, readonly number[]>>,
): SourcesFigures {
  const of = (name: string) => median(rounds[name] ?? [])
  return {
    bytes,
    sftpSeconds: of('sftp'),
    sftpProgramSeconds: of('sftp -b'),
    sftpOverProgram: of('sftp -b') / of('sftp'),
    s3Seconds: of('s3'),
    s3SdkSeconds: of('sdk'),
    s3OverSdk: of('sdk') / of('s3'),
    rssMb,
    rounds,
  }
}

function speedOf(bytes: number, seconds: number): string {
  return `${(bytes / 1e6 / seconds).toFixed(0)} MB/s`
}

function sftpSettings(sshd: Sshd, path: string) {
  return sourceSettings.parse({
    kind: 'sftp',
    name: 'bench',
    host: '127.0.0.1',
    port: sshd.port,
    ...sshd.login,
    path,
  })
}

async function runProgram(
  sshd: Sshd,
  { path, folder }: { readonly path: string; readonly folder: string },
): ReturnType<Runner> {
  const to = join(folder, 'by-program')
  const batch = join(folder, 'batch')
  writeFileSync(batch, `get ${path} ${to}\n`)
  const options = ['StrictHostKeyChecking=no', 'UserKnownHostsFile=/dev/null', 'LogLevel=ERROR']
  const startedAt = performance.now()
  const child = spawn(
    'sftp',
    [
      '-q',
      ...options.flatMap((option) => ['-o', option]),
      ...['-i', sshd.keyPath, '-P', String(sshd.port), '-b', batch],
      `${sshd.user}@127.0.0.1`,
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const [code] = await once(child, 'exit')
  const seconds = (performance.now() - startedAt) / 1_000
  if (code !== 0) throw new Error(`sftp ended with code ${code}`)
  const { size } = statSync(to)
  rmSync(to)
  return { seconds, bytes: size, mb: 0 }
}

async function createS3(path: string) {
  const server = await createS3Server()
  const endpoint = `http://127.0.0.1:${server.port}`
  const client = { region: 'us-east-1', endpoint, forcePathStyle: true, credentials }
  const object = { Bucket: 'bench', Key: 'BENCH_05032026_Electric.csv' }
  const sender = new S3Client(client)
  await sender.send(new CreateBucketCommand({ Bucket: object.Bucket }))
  await putObject(sender, object, readFileSync(path))
  sender.destroy()
  const settings = sourceSettings.parse({
    kind: 's3',
    name: 'bench',
    bucket: object.Bucket,
    endpoint,
    pathStyle: true,
    accessKeyId: { env: 'KEY' },
    secretAccessKey: { env: 'SECRET' },
  })
  return { client, object, settings, close: server.close }
}
