import { execFile } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { Fault } from '../../schemas/fault.js'

const run = promisify(execFile)
const howTo = 'as root, apt-get install redis-server, or set REDIS_URL to a Redis that runs already'
const policyPath = '/usr/sbin/policy-rc.d'
const installMsMax = 300_000

/**
 * The command that runs redis-server so that it ends with its parent: behind `setpriv --pdeathsig`
 * where util-linux has it. Throws `MISSING_PROGRAM` when there is no redis-server on the PATH.
 */
export async function findRedis(): Promise<readonly string[]> {
  const server = await findProgram('redis-server')
  if (server === undefined) throw new Fault('MISSING_PROGRAM', `no redis-server found: ${howTo}`)
  const guard = await findProgram('setpriv')
  if (guard === undefined || !(await hasDeathSignal(guard))) return [server]
  return [guard, '--pdeathsig', 'KILL', '--', server]
}

/** The path of a program that the shell would run, undefined when there is none. */
export async function findProgram(name: string): Promise<string | undefined> {
  const found = await run('sh', ['-c', 'command -v "$0"', name]).catch(() => undefined)
  return found?.stdout.trim()
}

export interface InstallOptions {
  /** Install although not root, with sudo (TIELINE_INSTALL=1). */
  readonly forced: boolean
  readonly say: (line: string) => void
}

/**
 * Makes sure that redis-server is there: found, or installed from Debian's package when this
 * process is root or `forced`, without a system service left running or enabled. Throws
 * `MISSING_PROGRAM` with one line that says what to do.
 */
export async function ensureRedis(options: InstallOptions): Promise<void> {
  if ((await findProgram('redis-server')) !== undefined) return
  const root = process.getuid?.() === 0
  if ((await findProgram('apt-get')) === undefined || !(root || options.forced)) {
    throw new Fault('MISSING_PROGRAM', `no redis-server found: ${howTo}`)
  }
  options.say('redis-server is not here: installing it from the Debian package')
  try {
    await installPackage('redis-server')
    await leaveNoService(toRoot()).catch(() => {
      options.say("the package's own service may start at the next boot: disable redis-server")
    })
  } catch (cause) {
    const said = cause instanceof Error ? cause.message.trim().split('\n').at(-1) : String(cause)
    throw new Fault('MISSING_PROGRAM', `redis-server could not be installed (${said}): ${howTo}`, {
      cause,
    })
  }
}

/** Installs one Debian package without a service of it being started; needs root, or sudo. */
export async function installPackage(name: string): Promise<void> {
  const sudo = toRoot()
  await withoutServices(sudo.length === 0, async () => {
    await apt(sudo, 'update')
    await apt(sudo, 'install', '-y', '--no-install-recommends', name)
  })
}

/** What a command is put behind that needs root. */
function toRoot(): readonly string[] {
  return process.getuid?.() === 0 ? [] : ['sudo', '-n']
}

async function apt(sudo: readonly string[], ...args: readonly string[]): Promise<void> {
  const command = [...sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q']
  const [program, ...rest] = [...command, '-o', 'DPkg::Lock::Timeout=120', ...args]
  await run(program as string, rest, { timeout: installMsMax, maxBuffer: 16 * 1024 * 1024 })
}

/** Debian asks policy-rc.d before it starts a service of a new package; 101 answers no. */
async function withoutServices(root: boolean, install: () => Promise<void>): Promise<void> {
  const ours = root && !existsSync(policyPath)
  if (ours) writeFileSync(policyPath, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    await install()
  } finally {
    if (ours) rmSync(policyPath, { force: true })
  }
}

/** The package enables a service for the next boot; where systemd runs it may run already. */
async function leaveNoService(sudo: readonly string[]): Promise<void> {
  const disable = existsSync('/run/systemd/system')
    ? ['systemctl', 'disable', '--now', 'redis-server']
    : ['update-rc.d', 'redis-server', 'disable']
  const [program, ...rest] = [...sudo, ...disable]
  await run(program as string, rest, { timeout: 60_000 })
}

async function hasDeathSignal(guard: string): Promise<boolean> {
  const help = await run(guard, ['--help']).catch(() => undefined)
  return help?.stdout.includes('--pdeathsig') ?? false
}
