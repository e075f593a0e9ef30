import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, realpathSync, rmSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Fault } from '../../schemas/fault.js'
import { type Claim, claimantOf, claimFolder } from '../stack/claim.js'
import { endLeftover, rememberServer } from '../stack/processes/leftover.js'
import { type Supervised, type SupervisedOptions, supervise } from '../stack/processes/supervise.js'
import type { Readable } from './access.js'
import { findEngine, removeCutOff } from './engine.js'
import type { EngineOptions, EngineReport } from './server.js'
import { defaultPace, type WatchdogPace, watch } from './watchdog.js'

export interface ClickHouseOptions extends Partial<Readable>, Omit<EngineOptions, keyof Readable> {
  /** Called with a log message when the engine ends, restarts or hangs, and with its output. */
  readonly onEvent?: (event: string) => void
  readonly onRestart?: SupervisedOptions['onRestart']
  /** Interval, time-out and tolerated misses of the watchdog. */
  readonly watchdog?: WatchdogPace
}

export interface EmbeddedClickHouse extends Supervised {
  readonly url: string
  readonly port: number
}

/** Half of the memory of the machine or container, at least 1 GiB. */
export function engineMemoryBytesMax(): number {
  const constrained = process.constrainedMemory() ?? 0
  const bytes = constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
  return Math.max(engineMemoryBytesMin, Math.floor(bytes / 2))
}

const engineMemoryBytesMin = 1024 ** 3
const readyMsMax = 120_000
/** What an engine says that does not start, and the remedy. */
const remedies = [
  // A claim is not seen in another container, the engine's lock of its files is.
  [
    /Cannot lock file/,
    'If another container uses this folder, run the command there or stop that container.',
  ],
  [/Cannot parse definition from metadata file/, 'Restore the last backup: tieline restore.'],
  [
    /Cannot load time zone/,
    'Set TZ to the name of a time zone of this machine, such as UTC, or remove it.',
  ],
] as const
/** An engine that hangs does not notice that its parent has ended. */
const pidName = 'clickhouse.pid'
const stopMsMax = 30_000
const outputLengthMax = 2000
/** The engine's output may arrive shortly after the report of its failure. */
const outputMs = 50

/**
 * Runs the ClickHouse engine in a supervised child process that serves ClickHouse's HTTP interface on
 * loopback. An engine that ends or hangs is restarted on the same port. Throws `ALREADY_RUNNING`,
 * `PORT_TAKEN`, `MISSING_PROGRAM` or `CONFIG`.
 */
export async function createClickHouse(options: ClickHouseOptions): Promise<EmbeddedClickHouse> {
  findEngine()
  mkdirSync(options.dataPath, { recursive: true, mode: 0o700 })
  const dataPath = realpathSync(options.dataPath)
  const claim = await claimFolder(dataPath).catch(async (cause: unknown) => {
    const owner = `process ${await claimantOf(dataPath)}`
    const detail = `${owner} is already using ${dataPath}; stop it first`
    throw new Fault('ALREADY_RUNNING', detail, { cause })
  })
  try {
    await endLeftover(join(dataPath, pidName), 0)
    return await startClaimed({ ...options, dataPath }, claim)
  } catch (error) {
    await claim.release()
    throw error
  }
}

async function startClaimed(options: ClickHouseOptions, claim: Claim): Promise<EmbeddedClickHouse> {
  const { onEvent = () => undefined } = options
  const pidPath = join(options.dataPath, pidName)
  let port = options.port
  let readyPid: number | undefined
  const supervised = await supervise({
    name: 'ClickHouse',
    start: () => {
      for (const event of removeCutOff(join(options.dataPath, 'store'))) onEvent(event)
      const child = startChild({ ...options, port }, onEvent)
      rememberServer(pidPath, child.pid)
      return child
    },
    ready: async (child) => {
      port = await untilListening(child)
      readyPid = child.pid
    },
    stop: (child) => void child.send({ kind: 'close' }, () => undefined),
    readyMsMax,
    logPath: 'tieline.log',
    stopMsMax,
    onEvent,
    onRestart: options.onRestart,
  })
  const url = `http://127.0.0.1:${port}`
  const watchdog = watch({
    url,
    pid: () => (supervised.pid() === readyPid ? readyPid : undefined),
    credentials: options.writer,
    pace: options.watchdog ?? defaultPace,
    onHang: (pid) => {
      onEvent(`ClickHouse (pid ${pid}) does not respond; killing it`)
      void supervised.kill()
    },
  })
  return {
    ...supervised,
    url,
    port,
    close: async () => {
      watchdog.stop()
      await supervised.close()
      rmSync(pidPath, { force: true })
      await claim.release()
    },
  }
}

/** Each running statement uses a thread of Node's pool, whose size has to be set before Node starts. */
const threadPool = 'UV_THREADPOOL_SIZE=64'

/** Detached, so that Ctrl-C reaches only the parent, which then stops the child gracefully. */
function startChild(options: ClickHouseOptions, onEvent: (event: string) => void): ChildProcess {
  const program = fileURLToPath(new URL('server.js', import.meta.url))
  const child = spawn('env', [threadPool, process.execPath, program], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8')
    stream?.on('data', (text: string) => {
      for (const line of text.split('\n').filter(Boolean)) onEvent(line)
    })
  }
  child.send(toMessage(options), () => undefined)
  return child
}

function toMessage(options: ClickHouseOptions): EngineOptions {
  const {
    onEvent: _,
    onRestart: __,
    watchdog: ___,
    readable = [],
    auditable = [],
    ...rest
  } = options
  return { ...rest, readable, auditable }
}

function withRemedy(detail: string): string {
  const remedy = remedies.find(([message]) => message.test(detail))?.[1]
  return remedy === undefined ? detail : `${detail}. ${remedy}`
}

/** The port of a listening child; a failure contains the engine's message. */
function untilListening(child: ChildProcess): Promise<number> {
  let output = ''
  child.stderr?.on('data', (text: string) => {
    output = `${output}${text}`.slice(-outputLengthMax)
  })
  return new Promise((resolve, reject) => {
    child.once('message', (message) => {
      const report = message as EngineReport
      if (report.kind === 'listening') return resolve(report.port)
      const code = report.code === 'EADDRINUSE' ? 'PORT_TAKEN' : 'CONFIG'
      const fail = (): void => {
        const detail = `ClickHouse did not start: ${report.detail} ${output}`.trim()
        reject(new Fault(code, withRemedy(detail)))
      }
      setTimeout(fail, outputMs)
    })
  })
}
