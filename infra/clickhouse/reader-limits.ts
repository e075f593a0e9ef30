/** Limits of the readers of the embedded engine and, as far as it has them, of a ClickHouse server. */
export interface ReaderLimits {
  /** Of one statement, in seconds of wall-clock time: `max_execution_time`. */
  readonly seconds: number
  /** Of one statement: `max_memory_usage`. The embedded engine allows a quarter of its own limit if that is less. */
  readonly memoryBytes: number
  /** Of one result, in its format and before (`max_result_bytes`). */
  readonly resultBytes: number
  /** Of the text of one statement with its parameters, as it arrives and unpacked. */
  readonly bodyBytes: number
  /** Of the text alone. It is judged on the thread that serves everyone, and the engine reads no more. */
  readonly statementBytes: number
  /** Statements of one reader, and of all readers, that run at the same time. */
  readonly lanes: number
  readonly allLanes: number
  /** How long a statement waits for a lane. */
  readonly waitMs: number
  /** Statements of one reader that wait for a lane; the next one is refused at once. */
  readonly waiting: number
  /** How long a client may take nothing of a result that is sent. */
  readonly sendMs: number
}

export const readerLimits: ReaderLimits = {
  seconds: 600,
  memoryBytes: 10_000_000_000,
  resultBytes: 10_000_000_000,
  bodyBytes: 8 * 1024 * 1024,
  statementBytes: 256 * 1024,
  lanes: 10,
  allLanes: 32,
  waitMs: 60_000,
  waiting: 100,
  sendMs: 60_000,
}

/** The settings that carry limits; a reader may lower them. */
export function limitSettings(limits: ReaderLimits): readonly (readonly [string, number])[] {
  return [
    ['max_execution_time', limits.seconds],
    ['max_memory_usage', limits.memoryBytes],
    ['max_result_bytes', limits.resultBytes],
  ]
}

/** The same for a ClickHouse server, and what its own settings have of the other limits. */
export function serverLimits(limits: ReaderLimits): readonly (readonly [string, number])[] {
  return [
    ...limitSettings(limits),
    ['max_concurrent_queries_for_user', limits.lanes],
    ['http_send_timeout', limits.sendMs / 1_000],
  ]
}
