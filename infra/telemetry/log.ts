import { statSync, truncateSync } from 'node:fs'
import { type Logger, pino } from 'pino'

export type Log = Logger

const logBytesMax = 100 * 1024 * 1024

/**
 * A structured log file with one JSON object per line, written synchronously so that nothing is lost
 * when the process is killed. A log above 100 MB is truncated at start. It contains codes, counts and
 * file names, but never rows, names, tokens or passwords.
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
