import type { Readable } from 'node:stream'
import type { UwsResponse } from './uws-types.js'

/** A response that is being written; whoever sees the client leave calls `onLeave`. */
export interface Writing {
  readonly isAborted: boolean
  onLeave?: () => void
}

/**
 * Writes a body as it comes, no faster than the client takes it: uWebSockets.js keeps at most one piece
 * that the connection did not take, and drops a client that takes nothing for 10 s. Of a stream that
 * fails the connection is closed without the end of the body, so that nobody takes a part for the whole.
 */
export async function writeStream(
  response: UwsResponse,
  exchange: Writing,
  { stream, closes }: { readonly stream: Readable; readonly closes: boolean },
): Promise<void> {
  let resume: (() => void) | undefined
  exchange.onLeave = () => {
    stream.destroy()
    resume?.()
  }
  response.onWritable(() => {
    resume?.()
    return true
  })
  try {
    for await (const piece of stream) {
      if (exchange.isAborted) return
      let isTaken = true
      response.cork(() => {
        isTaken = response.write(piece as string | Buffer)
      })
      if (isTaken) continue
      await new Promise<void>((resolve) => {
        resume = resolve
      })
    }
    if (!exchange.isAborted) response.cork(() => response.end('', closes))
  } catch {
    // The stream's own error is in the log of its request.
    if (!exchange.isAborted) response.close()
  } finally {
    stream.destroy()
  }
}
