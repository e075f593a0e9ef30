import { appendFileSync } from 'node:fs'
import { ClientRequest } from 'node:http'
import { join } from 'node:path'
import { shapeOf } from './shape.js'

/**
 * Loaded before a program of Tieline: writes the shape of each statement that it sends to ClickHouse into
 * a file of its own in the folder, at once, because such programs are killed. Tests are programs
 * too, but what they ask is theirs, as what a person asks by `tieline sql` is that person's.
 */
const folder = process.env['TIELINE_STATEMENTS']
const program = process.argv[1] ?? ''
const isProduct = /\/dist\/infra\/.*\.js$/.test(program) && process.argv[2] !== 'sql'

interface Sent {
  text: string
  isWhole: boolean
}

/** A statement, not its data, is at the front of a body. */
const charactersMax = 64 * 1024

if (folder !== undefined && isProduct) {
  const path = join(folder, `${process.pid}-${Date.now()}`)
  const known = new Set<string>()
  const sent = new WeakMap<ClientRequest, Sent>()
  const note = (request: ClientRequest): void => {
    const found = sent.get(request)
    if (found === undefined || found.isWhole) return
    found.isWhole = true
    const shape = shapeOf(found.text)
    if (shape === undefined || known.has(shape)) return
    known.add(shape)
    appendFileSync(path, `${shape}\n`)
  }
  const take = (request: ClientRequest, chunk: unknown): void => {
    const agent = String(request.getHeader('user-agent') ?? '')
    if (!agent.startsWith('tieline clickhouse-js')) return
    const found = sent.get(request) ?? { text: queryOf(request.path), isWhole: false }
    sent.set(request, found)
    const isText = typeof chunk === 'string' || chunk instanceof Uint8Array
    if (isText && found.text.length < charactersMax && !isInsertOf(request.path)) {
      found.text += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString('utf8')
    }
  }
  const { write, end } = ClientRequest.prototype
  ClientRequest.prototype.write = function (this: ClientRequest, ...args: unknown[]) {
    take(this, args[0])
    return Reflect.apply(write, this, args) as boolean
  } as typeof write
  ClientRequest.prototype.end = function (this: ClientRequest, ...args: unknown[]) {
    take(this, args[0])
    note(this)
    return Reflect.apply(end, this, args) as ClientRequest
  } as typeof end
}

function queryOf(path: string): string {
  return new URL(path, 'http://localhost').searchParams.get('query') ?? ''
}

/** Then the body holds its data. */
function isInsertOf(path: string): boolean {
  return /^\s*INSERT/i.test(queryOf(path))
}
