import { connect as connectPlain, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'

/** A client that sends given bytes and returns what came back. */
export interface RawClient {
  send(text: string): void
  /** Everything that has come, once `count` answers have, or the connection has ended. */
  answers(count?: number): Promise<readonly string[]>
  /** Resolves when the other side has closed. */
  closed(): Promise<void>
  /** Everything that has come, once it has a text so often, or the connection has ended. */
  textWith(part: string, count?: number): Promise<string>
  /** Reads nothing until `resume`. */
  pause(): void
  resume(): void
  destroy(): void
}

export interface RawServer {
  readonly port: number
  /** Undefined for plain HTTP. */
  readonly tls: ConnectionOptions | undefined
}

export async function createRaw({ port, tls }: RawServer): Promise<RawClient> {
  const socket: Socket =
    tls === undefined
      ? connectPlain({ host: '127.0.0.1', port })
      : connectTls({ host: '127.0.0.1', port, ...tls })
  let text = ''
  let isClosed = false
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const look of waiting) look()
  }
  socket.setEncoding('latin1')
  socket.on('data', (piece: string) => {
    text += piece
    wake()
  })
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isClosed = true
    wake()
  })
  await new Promise<void>((resolve, reject) => {
    socket.once(tls === undefined ? 'connect' : 'secureConnect', resolve)
    socket.once('error', reject)
  })
  const until = (reached: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => {
        if (!reached() && !isClosed) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return {
    send: (bytes) => void socket.write(bytes, 'latin1'),
    answers: async (count = 1) => {
      await until(() => split(text).length >= count)
      return split(text)
    },
    closed: () => until(() => false),
    textWith: async (part, count = 1) => {
      await until(() => text.split(part).length > count)
      return text
    },
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    destroy: () => socket.destroy(),
  }
}

/** The answers in what came: header and as much body as its length says. */
function split(text: string): readonly string[] {
  const answers: string[] = []
  let rest = text
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0) return answers
    const length = Number(/content-length: (\d+)/i.exec(rest.slice(0, end))?.[1] ?? 0)
    if (rest.length < end + 4 + length) return answers
    answers.push(rest.slice(0, end + 4 + length))
    rest = rest.slice(end + 4 + length)
  }
}
