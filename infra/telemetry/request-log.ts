import { createWriteStream } from 'node:fs'
import type { RequestEntry } from '../../api/handle.js'

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
 * that passes 100 MB begins anew, and the one before is kept. All of a line is ASCII.
 */
export function createRequestLog(path: string, rotate: (path: string) => void): RequestLog {
  let stream = createWriteStream(path, { flags: 'a', mode: 0o600 })
  let lines = ''
  let written = 0
  const flush = () => {
    if (lines === '') return
    stream.write(lines, 'latin1')
    written += lines.length
    lines = ''
    if (written < bytesMax) return
    stream.end()
    rotate(path)
    stream = createWriteStream(path, { flags: 'a', mode: 0o600 })
    written = 0
  }
  const begin = createBeginning()
  const timer = setInterval(flush, flushMs)
  timer.unref()
  return {
    write: (entry) => {
      lines += begin(Date.now(), entry) + rest(entry)
      if (lines.length > charactersMax) flush()
    },
    close: () => {
      clearInterval(timer)
      flush()
      return new Promise((resolve) => stream.end(resolve))
    },
  }
}

/**
 * The line up to its milliseconds, which is the same for all requests of one moment that ended
 * alike. No field needs escaping: routes and reasons are ours, request ids and hashes are plain.
 */
function createBeginning(): (time: number, entry: RequestEntry) => string {
  let text = ''
  let at = 0
  let of: Pick<RequestEntry, 'route' | 'status' | 'errorCode'> | undefined
  return (time, entry) => {
    const { route, status, errorCode } = entry
    const isSame = time === at && route === of?.route && status === of.status
    if (isSame && errorCode === of?.errorCode) return text
    const code = errorCode === undefined ? '' : `,"errorCode":${errorCode}`
    at = time
    of = entry
    text = `{"time":${time},"route":"${route}","status":${status}${code},"ms":`
    return text
  }
}

function rest({ ms, requestId, pseudonym, reason }: RequestEntry): string {
  const who = pseudonym === undefined ? '' : `","pseudonym":"${pseudonym}`
  const why = reason === undefined ? '' : `","reason":"${escaped(reason)}`
  return `${thousandths(Math.round(ms * 1_000))},"requestId":"${requestId}${who}${why}"}\n`
}

const reasonCharactersMax = 1_000

/** A reason may quote the name of a field as the client wrote it; as ASCII it stays one string. */
function escaped(reason: string): string {
  const text = JSON.stringify(reason.slice(0, reasonCharactersMax)).slice(1, -1)
  return text.replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A whole number of thousandths as a decimal, in a fraction of the time that a float takes. */
function thousandths(count: number): string {
  const rest = count % 1_000
  const zeros = rest < 10 ? '00' : rest < 100 ? '0' : ''
  return `${(count - rest) / 1_000}.${zeros}${rest}`
}
