import { Fault } from '../../schemas/fault.js'
import type { Intake } from '../../schemas/settings/intake.js'
import { type Answer, wrongRequest } from '../answer.js'
import { piecesMaxOf } from '../listeners/listener.js'
import type { GatewayRequest } from '../request.js'
import type { RouteHandler } from '../route.js'
import { createSemaphore } from '../semaphore.js'

/** Bytes of the body of a push at most: some 35,000 rows. */
export const pushBytesMax = 4 * 1_024 * 1_024
/** A body up to here is received and dropped: a client that is still sending would miss the 413. */
const droppedBytesMax = 2 * pushBytesMax
/** From the first to the last byte of a body. */
const bodyMsMax = 60_000
const piecesMax = piecesMaxOf({ bodyBytesMax: pushBytesMax })

/** Long bodies, which are in memory as a whole, at the same time; short ones do not wait for them. */
const longAtOnce = 8
const longWaitMs = 5_000
const shortBytesMax = 64 * 1_024

const formats: ReadonlyMap<string, 'csv' | 'ndjson'> = new Map([
  ['text/csv', 'csv'],
  ['application/x-ndjson', 'ndjson'],
])

/**
 * `POST /usage`: rows of the feed in the header field `Feed`; 202 when they are durable, 413 for more
 * than `pushBytesMax`. The body is not read before the sender is known. Throws `OVERLOAD` if too many
 * long bodies are being received.
 */
export function createPush(intake: Pick<Intake, 'push'>): (sender: string) => RouteHandler {
  const long = createSemaphore(longAtOnce)
  return (sender) =>
    async (request, { version }) => {
      const [type = ''] = (request.field?.('content-type') ?? '').split(';')
      const format = formats.get(type.trim().toLowerCase())
      if (format === undefined) return wrongRequest(`send as ${[...formats.keys()].join(' or ')}`)
      const announced = Number(request.field?.('content-length') ?? Number.NaN)
      if (announced > droppedBytesMax) return tooLong
      const isShort = announced <= shortBytesMax
      const leave = isShort ? () => undefined : await long.acquire(longWaitMs)
      if (leave === undefined) {
        throw new Fault('OVERLOAD', `${longAtOnce} long pushes are being received`)
      }
      try {
        const text = await readText(request)
        if (typeof text !== 'string') return text
        const feed = request.field?.('feed') ?? ''
        const gathered = await intake.push({ sender, feed, format, text })
        if (gathered.kind === 'wrong') return wrongRequest(gathered.detail)
        const { fileName, rows } = gathered
        const receipt = `/${version}/files/${fileName}`
        const body = JSON.stringify({ rows, fileName, receipt })
        return { kind: 'accepted', body, location: receipt }
      } finally {
        leave()
      }
    }
}

/** The body, or why it is refused. */
async function readText({ stream, isComplete }: GatewayRequest): Promise<string | Answer> {
  const pieces: Buffer[] = []
  const until = performance.now() + bodyMsMax
  let bytes = 0
  for await (const piece of stream ?? []) {
    bytes += piece.length
    if (bytes > droppedBytesMax || pieces.length > piecesMax) return tooLong
    if (bytes <= pushBytesMax) pieces.push(piece)
    if (performance.now() > until) return { kind: 'bare', status: 408 }
  }
  if (bytes > pushBytesMax) return tooLong
  // Half a number is another number.
  if (isComplete?.() === false) return { kind: 'bare', status: 400 }
  return Buffer.concat(pieces).toString('utf8')
}

const remedy = 'push fewer rows at once, or upload them as a file'
const tooLong: Answer = {
  ...wrongRequest(`the body is longer than 4 MB, or has too many chunks; ${remedy}`),
  status: 413,
}
