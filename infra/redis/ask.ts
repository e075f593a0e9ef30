import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { Fault } from '../../schemas/fault.js'

const answerMsMax = 3_000

/**
 * Sends commands to the Redis of a `redis://` or `rediss://` URL over a connection of its own and
 * returns the last one's answer. Throws `QUEUE_UNREACHABLE` when it does not answer in 3 seconds
 * or answers with an error; the message never holds the password.
 */
export async function askRedis(url: string, ...command: readonly string[]): Promise<string> {
  const address = new URL(url)
  const password = decodeURIComponent(address.password)
  const user = decodeURIComponent(address.username)
  const login = password === '' ? [] : [['AUTH', ...(user === '' ? [] : [user]), password]]
  const commands = [...login, command]
  const socket = open(address)
  try {
    socket.write(commands.map(encode).join(''))
    return await answer(socket, commands.length)
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause)
    throw new Fault('QUEUE_UNREACHABLE', `Redis at ${address.host}: ${reason}`, { cause })
  } finally {
    socket.destroy()
  }
}

function open(address: URL): Socket {
  const host = address.hostname.replace(/^\[|\]$/g, '')
  const port = Number(address.port || 6379)
  return address.protocol === 'rediss:'
    ? connectTls({ host, port, servername: host })
    : connect({ host, port })
}

function encode(command: readonly string[]): string {
  const words = command.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`)
  return `*${command.length}\r\n${words.join('')}`
}

/** The last of `count` answers; an error answer to any of them rejects. */
function answer(socket: Socket, count: number): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    socket.setTimeout(answerMsMax, () => reject(new Error('no answer in 3 seconds')))
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('the connection was closed')))
    socket.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      const answers = decode(text)
      const failed = answers.find((one) => one.startsWith('-'))
      if (failed !== undefined) reject(new Error(failed.slice(1)))
      else if (answers.length >= count) resolve((answers[count - 1] ?? '').slice(1))
    })
  })
}

/** The whole answers at the start of a text: status, error, integer and bulk, each with its mark. */
function decode(text: string): readonly string[] {
  const answers: string[] = []
  let at = 0
  for (;;) {
    const end = text.indexOf('\r\n', at)
    if (end < 0) return answers
    const line = text.slice(at, end)
    at = end + 2
    if (!line.startsWith('$') || line === '$-1') {
      answers.push(line)
      continue
    }
    const bytes = Number(line.slice(1))
    const rest = Buffer.from(text.slice(at))
    if (rest.length < bytes + 2) return answers
    const body = rest.subarray(0, bytes).toString()
    answers.push(`$${body}`)
    at += body.length + 2
  }
}
