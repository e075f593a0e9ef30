import { type ChildProcess, spawn } from 'node:child_process'
import {
  closeSync,
  mkdirSync,
  openSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../../schemas/fault.js'
import { isPortFree } from '../stack/port.js'
import { endLeftover, rememberServer } from '../stack/processes/leftover.js'
import { type Supervised, type SupervisedOptions, supervise } from '../stack/processes/supervise.js'
import { askRedis } from './ask.js'
import { damageIn, readFrom, setAside } from './damaged.js'
import { findRedis } from './install.js'

export interface RedisOptions {
  /** Folder of the append-only file and redis.log; created if missing. */
  readonly dataPath: string
  readonly port: number
  readonly password: string
  readonly onEvent?: (event: string) => void
  readonly onRestart?: SupervisedOptions['onRestart']
}

export interface RunningRedis extends Supervised {
  /** `redis://` URL with the password. */
  readonly url: string
  readonly port: number
}

const logBytesMax = 10 * 1024 * 1024
const memoryBytesMax = 1024 ** 3
const readyMsMax = 120_000
/** Without util-linux the kernel does not end the server with its parent. */
const pidName = 'redis.pid'
/** A server that is left over flushes its append-only file. */
const graceMs = 15_000

/**
 * Runs `redis-server` on loopback as a supervised child: the append-only file is flushed every second
 * and nothing is evicted. It gets its password on standard input and ends with its parent. Throws
 * `MISSING_PROGRAM`, `PORT_TAKEN`, or `CONFIG` with the message of Redis.
 */
export async function createRedis(options: RedisOptions): Promise<RunningRedis> {
  const program = await findRedis()
  mkdirSync(options.dataPath, { recursive: true, mode: 0o700 })
  const dataPath = realpathSync(options.dataPath)
  await endLeftover(join(dataPath, pidName), graceMs)
  if (!(await isPortFree(options.port))) {
    throw new Fault('PORT_TAKEN', takenBy(options.port))
  }
  const logPath = join(dataPath, 'redis.log')
  const url = `redis://:${options.password}@127.0.0.1:${options.port}`
  const start = createStart(program, { ...options, dataPath, logPath })
  const run = () =>
    supervise({
      name: 'Redis',
      start: start.server,
      ready: (child) => untilReady(child, url),
      stop: (child) => void child.kill('SIGTERM'),
      readyMsMax,
      logPath,
      stopMsMax: 10_000,
      ...(options.onEvent && { onEvent: options.onEvent }),
      onRestart: options.onRestart,
    })
  const supervised = await run()
    .catch((error: unknown) => {
      if (start.damage() === undefined) throw error
      return run()
    })
    .catch((error: unknown) => {
      throw withReason(error, logPath, options.port)
    })
  return { ...supervised, url, port: options.port }
}

/**
 * Starts servers one after the other. Files that the one before could not load are set aside first: what
 * was queued is queued again from the ledger.
 */
function createStart(
  program: readonly string[],
  options: RedisOptions & { readonly logPath: string },
) {
  const { dataPath, logPath, onEvent } = options
  let from: number | undefined
  const damage = () => (from === undefined ? undefined : damageIn(readFrom(logPath, from)))
  return {
    damage,
    server: () => {
      const reason = damage()
      const aside = reason === undefined ? undefined : setAside(dataPath)
      if (aside !== undefined) {
        const what = `Redis cannot load its files (${reason}); they are now in ${aside}`
        onEvent?.(`${what}. Redis starts empty, and the jobs are queued again from the ledger`)
      }
      const bytes = statSync(logPath, { throwIfNoEntry: false })?.size ?? 0
      from = bytes > logBytesMax ? 0 : bytes
      return startServer(program, options)
    },
  }
}

function startServer(
  program: readonly string[],
  options: RedisOptions & { readonly logPath: string },
): ChildProcess {
  if ((statSync(options.logPath, { throwIfNoEntry: false })?.size ?? 0) > logBytesMax) {
    rmSync(options.logPath)
  }
  const log = openSync(options.logPath, 'a', 0o600)
  const [command, ...args] = program
  const child = spawn(command as string, [...args, '-'], {
    cwd: options.dataPath,
    detached: true,
    stdio: ['pipe', log, log],
  })
  closeSync(log)
  child.stdin?.on('error', () => undefined)
  child.stdin?.end(configuration(options))
  rememberServer(join(options.dataPath, pidName), child.pid)
  return child
}

function configuration(options: RedisOptions): string {
  return [
    'bind 127.0.0.1',
    `port ${options.port}`,
    `requirepass ${JSON.stringify(options.password)}`,
    `dir ${JSON.stringify(options.dataPath)}`,
    'appendonly yes',
    'appendfsync everysec',
    'save ""',
    `maxmemory ${memoryBytesMax}`,
    'maxmemory-policy noeviction',
    'daemonize no',
    '',
  ].join('\n')
}

async function untilReady(child: ChildProcess, url: string): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const reply = await askRedis(url, 'PING').catch(() => undefined)
    if (reply === 'PONG') return
    await sleep(25)
  }
}

function takenBy(port: number): string {
  return `another program listens on port ${port}; stop it, or choose another port`
}

/** The reason of a failed first start, from the log of Redis. */
function withReason(error: unknown, logPath: string, port: number): unknown {
  if (!(error instanceof Fault) || error.code !== 'CONFIG') return error
  const lines = readFileSync(logPath, 'utf8').trimEnd().split('\n').slice(-6)
  if (lines.some((line) => line.includes('Address already in use'))) {
    return new Fault('PORT_TAKEN', takenBy(port), { cause: error })
  }
  const message = lines.findLast((line) => /#|\*\*\*|Bad|error/i.test(line)) ?? lines.at(-1)
  const detail = `${error.detail}. Its last message: ${message}`
  return new Fault('CONFIG', detail, { cause: error })
}
