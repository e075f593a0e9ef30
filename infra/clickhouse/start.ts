import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, realpathSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Fault } from '../../schemas/fault.js'
import { type Supervised, supervise } from '../supervise.js'
import type { Credentials } from './auth.js'
import type { ChildOptions, ChildReport } from './report.js'

export interface ClickHouseOptions {
  /** Folder of the engine's data; made with mode 0700 when missing. */
  readonly dataPath: string
  /** Wanted port on 127.0.0.1; 0 is any free one. */
  readonly port: number
  readonly writer: Credentials
  readonly reader: Credentials
  /** The engine's memory limit over all queries (max_server_memory_usage). */
  readonly memoryBytesMax: number
  readonly onEvent?: (event: ClickHouseEvent) => void
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
  /** SIGKILL, for tests and chaos: the supervisor starts the engine again. */
  kill(): Promise<void>
  /** Lets running statements finish, then stops the engine. */
  close(): Promise<void>
}

const readyMsMax = 60_000
const stopMsMax = 30_000

/**
 * Runs the ClickHouse engine in a supervised child process that serves ClickHouse's HTTP interface
 * on loopback. Throws `ALREADY_RUNNING`, `PORT_TAKEN`, `MISSING_PROGRAM` or `CONFIG`.
 */
export async function createClickHouse(options: ClickHouseOptions): Promise<EmbeddedClickHouse> {
  mkdirSync(options.dataPath, { recursive: true, mode: 0o700 })
  const dataPath = realpathSync(options.dataPath)
  const onEvent = options.onEvent ?? (() => undefined)
  let port = options.port
  let startCount = 0
  const supervised: Supervised = await supervise({
    name: 'ClickHouse',
    start: () => startChild({ ...options, dataPath, port }, onEvent),
    ready: async (child) => {
      port = await untilListening(child)
      const kind = startCount++ === 0 ? 'started' : 'restarted'
      onEvent({ kind, pid: child.pid as number, port })
    },
    stop: (child) => void child.send({ kind: 'close' }),
    readyMsMax,
    stopMsMax,
    onEvent: (line) => onEvent({ kind: 'log', line }),
  })
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    pid: supervised.pid,
    kill: async () => supervised.kill(),
    close: supervised.close,
  }
}

function startChild(
  options: ClickHouseOptions,
  onEvent: (event: ClickHouseEvent) => void,
): ChildProcess {
  const { dataPath, port, writer, reader, memoryBytesMax } = options
  const program = fileURLToPath(new URL('server.js', import.meta.url))
  const child = spawn(process.execPath, [program], {
    env: { ...process.env, UV_THREADPOOL_SIZE: '64' },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8')
    stream?.on('data', (text: string) => {
      for (const line of text.split('\n').filter(Boolean)) onEvent({ kind: 'log', line })
    })
  }
  child.once('exit', (code, signal) => onEvent({ kind: 'exited', code, signal }))
  child.send({ dataPath, port, writer, reader, memoryBytesMax } satisfies ChildOptions)
  return child
}

function untilListening(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => {
      const report = message as ChildReport
      if (report.kind === 'listening') return resolve(report.port)
      const code = report.code === 'EADDRINUSE' ? 'PORT_TAKEN' : 'CONFIG'
      reject(new Fault(code, `ClickHouse did not start: ${report.detail}`))
    })
  })
}
