import { renameSync, statSync } from 'node:fs'
import { type Logger, pino } from 'pino'

export type Log = Logger

const logBytesMax = 100 * 1024 * 1024
const waitingBytesMax = 1024 * 1024

/**
 * A structured log file with one JSON object per line, written synchronously so that nothing is lost
 * when the process is killed. A log above 100 MB is rotated at start, and the previous one is kept. It
 * contains codes, counts and file names, but never rows, names, tokens or passwords. If the disk is full, lines wait in memory for
 * the next one that can be written; above 1 MB they are lost, and their number is logged.
 */
export function createLog(path: string, name: string): Log {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (bytes > logBytesMax) renameSync(path, `${path}.1`)
  const file = pino.destination({
    dest: path,
    sync: true,
    append: true,
    mode: 0o600,
    // More than nothing, or flush() does nothing.
    minLength: 1,
    maxLength: waitingBytesMax,
  })
  let lost = 0
  file.on('error', () => undefined)
  file.on('drop', () => {
    lost++
    // A full buffer is not written again by a line that finds no place in it.
    file.flush()
  })
  file.on('write', () => {
    if (lost === 0) return
    const lines = lost
    lost = 0
    log.warn({ lines }, 'lines of this log were lost: its disk was full')
    // The report itself may be lost.
    if (lost > 0) lost = lines
  })
  const redact = ['password', '*.password', 'authorization', '*.authorization']
  const log = pino({ name, redact, timestamp: pino.stdTimeFunctions.isoTime }, file)
  return log
}
