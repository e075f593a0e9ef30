import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Fault } from '../../schemas/fault.js'
import { supervise } from '../stack/processes/supervise.js'
import type { Credentials } from './http/auth.js'
import { type Lock, lockFolder } from './lock.js'
import type { EngineOptions, EngineReport } from './report.js'
import { defaultPace, type WatchdogPace, watch } from './watchdog.js'

export interface ClickHouseOptions {
  /** Data folder of the engine; created with mode 0700 if missing. */
  readonly dataPath: string
  /** Wanted port on 127.0.0.1; 0 is any free one. */
  readonly port: number
  readonly writer: Credentials
  readonly reader: Credentials
  /** The engine's memory limit over all queries (max_server_memory_usage). */
  readonly memoryBytesMax: number
  readonly onEvent?: (event: ClickHouseEvent) => void
  /** Interval, time-out and tolerated misses of the watchdog. */
  readonly watchdog?: WatchdogPace
}

export type ClickHouseEvent =
  | { readonly kind: 'started'; readonly pid: number; readonly port: number }
  | { readonly kind: 'restarted'; readonly pid: number; readonly port: number }
  | { readonly kind: 'exited'; readonly code: number | null; readonly signal: string | null }
  | { readonly kind: 'hung'; readonly pid: number }
  | { readonly kind: 'log'; readonly line: string }

export interface EmbeddedClickHouse {
  readonly url: string
  readonly port: number
  pid(): number | undefined
  /** Sends SIGKILL, for tests and chaos; the supervisor restarts the engine. */
  kill(): Promise<void>
  /** Lets running statements finish, then stops the engine. */
  close(): Promise<void>
}

const readyMsMax = 120_000
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
  mkdirSync(options.dataPath, { recursive: true, mode: 0o700 })
  const dataPath = realpathSync(options.dataPath)
  const lock = await lockFolder(dataPath)
  try {
    return await startLocked({ ...options, dataPath }, lock)
  } catch (error) {
    lock.release()
    throw error
  }
}

async function startLocked(options: ClickHouseOptions, lock: Lock): Promise<EmbeddedClickHouse> {
  const onEvent = options.onEvent ?? (() => undefined)
  let port = options.port
  let child: ChildProcess | undefined
  let startCount = 0
  let readyPid: number | undefined
  const supervised = await supervise({
    name: 'ClickHouse',
    start: () => {
      child = startChild({ ...options, port }, onEvent)
      if (child.pid !== undefined) lock.setEngine(child.pid)
      return child
    },
    ready: async (started) => {
      port = await untilListening(started)
      readyPid = started.pid
      const kind = startCount++ === 0 ? 'started' : 'restarted'
      onEvent({ kind, pid: started.pid as number, port })
    },
    stop: (stopped) => void stopped.send({ kind: 'close' }, () => undefined),
    readyMsMax,
    stopMsMax,
    onEvent: (line) => onEvent({ kind: 'log', line }),
  })
  const url = `http://127.0.0.1:${port}`
  const watchdog = watch({
    url,
    pid: () => (supervised.pid() === readyPid ? readyPid : undefined),
    credentials: options.writer,
    pace: options.watchdog ?? defaultPace,
    onHang: (pid) => {
      onEvent({ kind: 'hung', pid })
      supervised.kill()
    },
  })
  return {
    url,
    port,
    pid: supervised.pid,
    kill: async () => {
      const killed = child
      if (killed === undefined || supervised.pid() === undefined) return
      const exited = once(killed, 'exit')
      supervised.kill()
      await exited
    },
    close: async () => {
      watchdog.stop()
      await supervised.close()
      lock.release()
    },
  }
}

/** Each running statement uses a thread of Node's pool, whose size has to be set before Node starts. */
const threadPool = 'UV_THREADPOOL_SIZE=64'

/** Detached, so that Ctrl-C reaches only the parent, which then stops the child gracefully. */
function startChild(
  options: ClickHouseOptions,
  onEvent: (event: ClickHouseEvent) => void,
): ChildProcess {
  const { dataPath, port, writer, reader, memoryBytesMax } = options
  const program = fileURLToPath(new URL('server.js', import.meta.url))
  const child = spawn('env', [threadPool, process.execPath, program], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8')
    stream?.on('data', (text: string) => {
      for (const line of text.split('\n').filter(Boolean)) onEvent({ kind: 'log', line })
    })
  }
  child.once('exit', (code, signal) => onEvent({ kind: 'exited', code, signal }))
  const message: EngineOptions = { dataPath, port, writer, reader, memoryBytesMax }
  child.send(message, () => undefined)
  return child
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
      const fail = (): void =>
        reject(new Fault(code, `ClickHouse did not start: ${report.detail} ${output}`.trim()))
      setTimeout(fail, outputMs)
    })
  })
}
