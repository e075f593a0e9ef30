import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { freePort } from '../identity/provider.js'

const root = '/usr/lib/postgresql'

export interface Postgres {
  readonly port: number
  readonly user: string
  run(sql: string): Promise<void>
  /** From now on this user needs its password. */
  askPassword(user: string): Promise<void>
  close(): Promise<void>
}

/** A PostgreSQL server of Debian's package on a folder of its own, on loopback, without a password. */
export async function createPostgres(): Promise<Postgres> {
  const programs = findPrograms() ?? install()
  const path = mkdtempSync(join(tmpdir(), 'tieline-postgres-'))
  chmodSync(path, 0o700)
  const asUser =
    process.getuid?.() === 0
      ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups']
      : []
  if (asUser.length > 0) execFileSync('chown', ['postgres:postgres', path])
  const [initdb = '', ...initArgs] = [
    ...asUser,
    join(programs, 'initdb'),
    ...['-D', join(path, 'data'), '-U', 'cis', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
  ]
  execFileSync(initdb, initArgs, { cwd: '/', stdio: 'ignore' })
  const port = await freePort()
  const [server = '', ...args] = [
    ...asUser,
    join(programs, 'postgres'),
    ...['-D', join(path, 'data'), '-p', String(port), '-k', path, '-c', 'fsync=off'],
    ...['-c', 'listen_addresses=127.0.0.1'],
  ]
  const child = spawn(server, args, { cwd: '/', stdio: 'ignore' })
  await untilAnswering(port)
  return {
    port,
    user: 'cis',
    run: (sql) => run(port, sql),
    askPassword: async (user) => {
      const rules = join(path, 'data', 'pg_hba.conf')
      const line = `host all ${user} 127.0.0.1/32 scram-sha-256\n`
      writeFileSync(rules, `${line}${readFileSync(rules, 'utf8')}`)
      await run(port, 'SELECT pg_reload_conf()')
    },
    close: async () => {
      const ended = once(child, 'exit')
      child.kill('SIGINT')
      await ended
      rmSync(path, { recursive: true, force: true })
    },
  }
}

async function run(port: number, sql: string): Promise<void> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'cis', database: 'postgres' })
  client.on('error', () => undefined)
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

async function untilAnswering(port: number): Promise<void> {
  for (let look = 0; look < 3_000; look++) {
    const answered = await run(port, 'SELECT 1').then(
      () => true,
      () => false,
    )
    if (answered) return
    await sleep(100)
  }
  throw new Error('PostgreSQL does not answer')
}

function findPrograms(): string | undefined {
  const [newest] = existsSync(root) ? readdirSync(root).sort().reverse() : []
  return newest && existsSync(join(root, newest, 'bin', 'initdb'))
    ? join(root, newest, 'bin')
    : undefined
}

/** As root, Debian's package, with no server of its own made or started. */
function install(): string {
  const apt = (...args: string[]) =>
    execFileSync('apt-get', ['-q', '-o', 'DPkg::Lock::Timeout=120', ...args], {
      stdio: 'ignore',
      env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
    })
  apt('update')
  apt('install', '-y', '--no-install-recommends', 'postgresql-common')
  execFileSync('sh', [
    '-c',
    'mkdir -p /etc/postgresql-common && echo create_main_cluster=false >> /etc/postgresql-common/createcluster.conf',
  ])
  apt('install', '-y', '--no-install-recommends', 'postgresql')
  const programs = findPrograms()
  if (programs === undefined) throw new Error('PostgreSQL could not be installed')
  return programs
}
