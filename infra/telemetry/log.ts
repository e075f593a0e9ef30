import { statSync, truncateSync } from 'node:fs'
import { type Logger, pino } from 'pino'

export type Log = Logger

const logBytesMax = 100 * 1024 * 1024

/**
 * A structured log in a file, one JSON object a line, appended at once so that nothing is lost when
 * the process is killed. A log that has passed 100 MB starts again from nothing. Codes, counts and
 * file names belong in it; rows, names, tokens and passwords never.
 */
export function createLog(path: string, name: string): Log {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (bytes > logBytesMax) truncateSync(path)
  const redact = ['password', '*.password', 'authorization', '*.authorization']
  return pino(
    { name, redact, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ dest: path, sync: true, append: true, mode: 0o600 }),
  )
}
