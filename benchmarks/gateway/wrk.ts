import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const run = promisify(execFile)

export interface WrkOptions {
  readonly url: string
  /** A Lua file: which method, which tokens. */
  readonly script: string
  readonly token?: string
  readonly connections: number
  readonly seconds: number
}

export interface WrkFigures {
  readonly requests: number
  /** Answers a second. */
  readonly rps: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Answers that were no 200, and connections that broke. */
  readonly errors: number
}

/** Drives a server with wrk (Debian package) from one thread. */
export async function wrk(options: WrkOptions): Promise<WrkFigures> {
  const header = options.token === undefined ? [] : ['-H', `Authorization: Bearer ${options.token}`]
  const { stdout } = await drive([
    ...[
      '-t1',
      `-c${options.connections}`,
      `-d${options.seconds}s`,
      '--latency',
      '--timeout',
      '30s',
    ],
    ...['-s', options.script, ...header, options.url],
  ])
  const non200 = Number(/Non-2xx or 3xx responses: (\d+)/.exec(stdout)?.[1] ?? 0)
  const socket = /Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)/.exec(stdout)
  const broken = socket?.slice(1).reduce((sum, count) => sum + Number(count), 0) ?? 0
  return {
    requests: Number(/(\d+) requests in/.exec(stdout)?.[1] ?? 0),
    rps: Number(/Requests\/sec: +([\d.]+)/.exec(stdout)?.[1] ?? 0),
    p50Ms: toMs(/50% +([\d.]+)(us|ms|s)/.exec(stdout)),
    p99Ms: toMs(/99% +([\d.]+)(us|ms|s)/.exec(stdout)),
    errors: non200 + broken,
  }
}

/** Throws an error with its remedy where wrk is not installed. */
function drive(parameters: readonly string[]): Promise<{ readonly stdout: string }> {
  return run('wrk', parameters).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    throw new Error('wrk is not installed: on Debian, apt-get install wrk', { cause: error })
  })
}

function toMs(match: RegExpExecArray | null): number {
  const factors: Readonly<Record<string, number>> = { us: 0.001, ms: 1, s: 1_000 }
  return Number(match?.[1] ?? Number.NaN) * (factors[match?.[2] ?? ''] ?? Number.NaN)
}
