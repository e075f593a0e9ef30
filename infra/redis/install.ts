import { execFile } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { Fault } from '../../schemas/fault.js'

const run = promisify(execFile)
const howTo = 'run apt-get install redis-server as root, or set REDIS_URL to a running Redis'
const policyPath = '/usr/sbin/policy-rc.d'
const installMsMax = 300_000

/**
 * The command that runs redis-server so that it ends with its parent: through `setpriv --pdeathsig`
 * if util-linux supports it. Throws `MISSING_PROGRAM` if redis-server is not on the PATH.
 */
export async function findRedis(): Promise<readonly string[]> {
  const server = await findProgram('redis-server')
  if (server === undefined) throw new Fault('MISSING_PROGRAM', `redis-server not found: ${howTo}`)
  const guard = await findProgram('setpriv')
  if (guard === undefined || !(await hasDeathSignal(guard))) return [server]
  return [guard, '--pdeathsig', 'KILL', '--', server]
}

/** The path of a program on the PATH; undefined if there is none. */
export async function findProgram(name: string): Promise<string | undefined> {
  const found = await run('sh', ['-c', 'command -v "$0"', name]).catch(() => undefined)
  return found?.stdout.trim()
}

export interface InstallOptions {
  /** Install with sudo if not root (TIELINE_INSTALL=1). */
  readonly forced: boolean
  readonly say: (line: string) => void
}

/**
 * Ensures that redis-server is installed: found on the PATH, or installed from Debian's package if
 * this process is root or `forced`, without leaving a system service running or enabled. Throws
 * `MISSING_PROGRAM` with the remedy.
 */
export async function ensureRedis(options: InstallOptions): Promise<void> {
  if ((await findProgram('redis-server')) !== undefined) return
  const root = process.getuid?.() === 0
  if ((await findProgram('apt-get')) === undefined || !(root || options.forced)) {
    throw new Fault('MISSING_PROGRAM', `redis-server not found: ${howTo}`)
  }
  options.say('redis-server not found: installing the Debian package')
  try {
    await installPackage('redis-server')
    await leaveNoService(toRoot()).catch(() => {
      options.say("the package's service may start at the next boot; disable redis-server")
    })
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message.trim().split('\n').at(-1) : String(cause)
    throw new Fault('MISSING_PROGRAM', `cannot install redis-server (${reason}): ${howTo}`, {
      cause,
    })
  }
}

/** Installs a Debian package without starting its service; needs root or sudo. */
export async function installPackage(name: string): Promise<void> {
  const sudo = toRoot()
  await withoutServices(sudo.length === 0, async () => {
    await apt(sudo, 'update')
    await apt(sudo, 'install', '-y', '--no-install-recommends', name)
  })
}

/** The prefix of a command that needs root. */
function toRoot(): readonly string[] {
  return process.getuid?.() === 0 ? [] : ['sudo', '-n']
}

async function apt(sudo: readonly string[], ...args: readonly string[]): Promise<void> {
  const command = [...sudo, 'env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '-q']
  const [program, ...rest] = [...command, '-o', 'DPkg::Lock::Timeout=120', ...args]
  await run(program as string, rest, { timeout: installMsMax, maxBuffer: 16 * 1024 * 1024 })
}

/** Debian runs policy-rc.d before it starts the service of a new package; 101 denies it. */
async function withoutServices(root: boolean, install: () => Promise<void>): Promise<void> {
  const ours = root && !existsSync(policyPath)
  if (ours) writeFileSync(policyPath, '#!/bin/sh\nexit 101\n', { mode: 0o755 })
  try {
    await install()
  } finally {
    if (ours) rmSync(policyPath, { force: true })
  }
}

/** The package enables a service for the next boot; with systemd it may already run. */
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
