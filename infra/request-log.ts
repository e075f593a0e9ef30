import { createWriteStream } from 'node:fs'
import type { RequestEntry } from '../api/handle.js'

export interface RequestLog {
  write(entry: RequestEntry): void
  /** Resolves when all lines are in the file. */
  close(): Promise<void>
}

const flushMs = 200
const charactersMax = 64 * 1024
const bytesMax = 100 * 1024 * 1024

/**
 * One JSON line for each request, handed to the system in batches: writing each on its own would
 * cost more than answering. What a killed process leaves out is the last fifth of a second. A file
 * that passes 100 MB begins anew, and the one before is kept.
 */
export function createRequestLog(path: string, rotate: (path: string) => void): RequestLog {
  let stream = createWriteStream(path, { flags: 'a', mode: 0o600 })
  let lines = ''
  let written = 0
  const flush = () => {
    if (lines === '') return
    stream.write(lines)
    written += lines.length
    lines = ''
    if (written < bytesMax) return
    stream.end()
    rotate(path)
    stream = createWriteStream(path, { flags: 'a', mode: 0o600 })
    written = 0
  }
  const timer = setInterval(flush, flushMs)
  timer.unref()
  return {
    write: (entry) => {
      lines += toLine(entry)
      if (lines.length > charactersMax) flush()
    },
    close: () => {
      clearInterval(timer)
      flush()
      return new Promise((resolve) => stream.end(resolve))
    },
  }
}

/** No field needs escaping: routes and reasons are ours, request ids and hashes are plain. */
function toLine({
  route,
  status,
  errorCode,
  ms,
  requestId,
  subject,
  reason,
}: RequestEntry): string {
  const code = errorCode === undefined ? '' : `,"errorCode":${errorCode}`
  const who = subject === undefined ? '' : `,"subject":"${subject}"`
  const why = reason === undefined ? '' : `,"reason":${JSON.stringify(reason)}`
  return `{"time":${Date.now()},"route":"${route}","status":${status}${code},"ms":${thousandths(Math.round(ms * 1_000))},"requestId":"${requestId}"${who}${why}}\n`
}

/** A whole number of thousandths as a decimal, in a fraction of the time that a float takes. */
function thousandths(count: number): string {
  const rest = count % 1_000
  const zeros = rest < 10 ? '00' : rest < 100 ? '0' : ''
  return `${(count - rest) / 1_000}.${zeros}${rest}`
}
