import { createWriteStream } from 'node:fs'
import type { RequestEntry } from '../../api/handle.js'

export interface RequestLog {
  write(entry: RequestEntry): void
  /** Resolves when all lines are written. */
  close(): Promise<void>
}

const flushMs = 200
const charactersMax = 64 * 1024
const bytesMax = 100 * 1024 * 1024

/**
 * Logs one JSON line per request, written in batches: a write per request would cost more than the
 * response. A killed process loses the last 0.2 seconds. A file above 100 MB is rotated, and the
 * previous one is kept. Lines are ASCII. Lines that cannot be written, because the disk is full, are
 * counted, and the next that can be written follows their number, `lostLines`.
 */
export function createRequestLog(path: string, rotate: (path: string) => void): RequestLog {
  const open = () => {
    const opened = createWriteStream(path, { flags: 'a', mode: 0o600 })
    return opened.on('error', () => undefined)
  }
  let stream = open()
  let lines = ''
  let written = 0
  let lost = 0
  const flush = () => {
    if (lines === '') return
    if (stream.destroyed) stream = open()
    const earlier = lost
    lost = 0
    const text = earlier === 0 ? lines : `\n{"time":${Date.now()},"lostLines":${earlier}}\n${lines}`
    const count = earlier + linesIn(lines)
    stream.write(text, 'latin1', (error) => {
      if (error) lost += count
    })
    written += text.length
    lines = ''
    if (written < bytesMax) return
    stream.end()
    rotate(path)
    stream = open()
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
      return new Promise((resolve) => stream.end(() => resolve()))
    },
  }
}

function linesIn(text: string): number {
  return text.split('\n').length - 1
}

/**
 * The line up to its milliseconds, reused for equal requests of the same millisecond. No field needs
 * escaping: routes are ours, and request ids and hashes are plain characters.
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

function rest({ ms, requestId, pseudonym, reason, reasonDetail }: RequestEntry): string {
  const who = pseudonym === undefined ? '' : `","pseudonym":"${pseudonym}`
  const why = reason === undefined ? '' : `","reason":"${escaped(reason)}`
  const detail = reasonDetail === undefined ? '' : `","reasonDetail":"${escaped(reasonDetail)}`
  return `${thousandths(Math.round(ms * 1_000))},"requestId":"${requestId}${who}${why}${detail}"}\n`
}

const reasonCharactersMax = 1_000

/** A reason may quote a field name of the client, so it is escaped to ASCII. */
function escaped(reason: string): string {
  const text = JSON.stringify(reason.slice(0, reasonCharactersMax)).slice(1, -1)
  return text.replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Formats an integer of thousandths as a decimal, much faster than formatting a float. */
function thousandths(count: number): string {
  const rest = count % 1_000
  const zeros = rest < 10 ? '00' : rest < 100 ? '0' : ''
  return `${(count - rest) / 1_000}.${zeros}${rest}`
}
