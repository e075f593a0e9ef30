import { mkdirSync, rmSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Readable, writeAccess } from './access.js'
import { type Engine, openEngine } from './engine.js'
import type { AsServer } from './http/answer.js'
import type { Credentials } from './http/auth.js'
import { createStatementKiller } from './killer.js'
import { createLanes, statementsMax } from './lanes.js'
import { createPipes } from './pipes.js'
import { createReports } from './progress.js'
import { createQueryLog } from './query-log.js'
import { type ReaderLimits, readerLimits } from './reader-limits.js'
import { findReader, readersFolder } from './readers.js'
import { createFront } from './serve.js'
import { createSessions, onFreshLease } from './sessions.js'

/** First message of the parent; secrets are sent this way, never by argv. */
export interface EngineOptions extends Readable {
  /** Data folder of the engine; created with mode 0700 if missing. */
  readonly dataPath: string
  /** Wanted port on 127.0.0.1; 0 is any free one. */
  readonly port: number
  readonly writer: Credentials
  readonly reader: Credentials
  /** The engine's memory limit over all queries (max_server_memory_usage). */
  readonly memoryBytesMax: number
  /** For tests: other limits of readers. */
  readonly readerLimits?: Partial<ReaderLimits> | undefined
  /**
   * Removed with all data when the engine is closed, which then ends running statements, or when its
   * parent ends in any way.
   */
  readonly temporaryPath?: string | undefined
  /** For tests: behave as a server behind a proxy does. */
  readonly asServer?: AsServer | undefined
}

export type EngineReport =
  | { readonly kind: 'listening'; readonly port: number }
  | { readonly kind: 'failed'; readonly code: string; readonly detail: string }

let temporaryPath: string | undefined
/** What the parent's second message calls for; it may come while the engine starts. */
let close = die

process.once('message', (message) => {
  process.once('message', () => close())
  const options = message as EngineOptions
  temporaryPath = options.temporaryPath
  serve(options).catch((error: unknown) => {
    report({ kind: 'failed', code: codeOf(error), detail: String(error) })
    setTimeout(die, 200)
  })
})
process.once('disconnect', die)
process.once('SIGTERM', die)

async function serve(options: EngineOptions): Promise<void> {
  const spoolPath = join(options.dataPath, 'spool')
  const storePath = join(options.dataPath, 'store')
  const emptyPath = join(options.dataPath, 'empty')
  rmSync(spoolPath, { recursive: true, force: true })
  for (const path of [spoolPath, storePath, emptyPath]) {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  }
  process.chdir(emptyPath)
  const engine = openEngine(storePath, [
    `--config-file=${writeAccess(options.dataPath, options)}`,
    `--max_server_memory_usage=${options.memoryBytesMax}`,
  ])
  const limits = limitsOf(options)
  const front = {
    engine,
    readable: options,
    limits,
    spoolPath,
    pipes: await createPipes(join(options.dataPath, 'pipes'), statementsMax),
    lanes: createLanes(limits),
    sessions: createSessions(engine),
    running: new Set<string>(),
    reports: createReports(engine),
    killer: createStatementKiller(engine),
    queryLog: await createQueryLog(engine),
    known: {
      writer: options.writer,
      reader: options.reader,
      named: (shown: Credentials) => findReader(readersFolder(options.dataPath), shown),
    },
    timezone: await timezoneOf(engine),
    open: new Set<ServerResponse>(),
    asServer: options.asServer,
  }
  const server = createFront(front)
  server.once('error', (error: NodeJS.ErrnoException) => {
    report({ kind: 'failed', code: codeOf(error), detail: error.message })
    setTimeout(die, 200)
  })
  server.listen({ host: '127.0.0.1', port: options.port, exclusive: true }, () => {
    report({ kind: 'listening', port: (server.address() as AddressInfo).port })
  })
  close = () => {
    server.close()
    if (temporaryPath === undefined) drain(front.open).finally(die)
    else die()
  }
}

/** One statement of a reader may use up to a quarter of the engine's memory. */
function limitsOf({ memoryBytesMax, readerLimits: others }: EngineOptions): ReaderLimits {
  const memoryBytes = Math.min(readerLimits.memoryBytes, Math.floor(memoryBytesMax / 4))
  return { ...readerLimits, memoryBytes, ...others }
}

/** Waits for open responses; the parent kills the process after its time-out. */
async function drain(open: ReadonlySet<ServerResponse>): Promise<void> {
  while (open.size > 0) await sleep(5)
}

async function timezoneOf(engine: Engine): Promise<string> {
  const { bytes } = await onFreshLease(engine, (connection) =>
    connection.query('SELECT timezone()', 'TabSeparated'),
  )
  return bytes.toString('utf8').trim()
}

function report(message: EngineReport): void {
  process.send?.(message)
}

function codeOf(error: unknown): string {
  return (error as { code?: string }).code ?? 'CONFIG'
}

/** The engine's threads would hang a normal exit, and its data do not need one. */
function die(): void {
  setImmediate(() => {
    try {
      // Threads of the engine may still write.
      if (temporaryPath !== undefined) {
        rmSync(temporaryPath, { recursive: true, force: true, maxRetries: 5 })
      }
    } finally {
      process.kill(process.pid, 'SIGKILL')
    }
  })
}
