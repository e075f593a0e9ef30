import { readdirSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { join } from 'node:path'
import { hashOfFile } from './city-hash.js'

/** A part on the disk. */
export interface StoredPart {
  readonly path: string
  /** Wide or Compact. */
  readonly type: string
}

/** The version of ClickHouse's protocol that adds the type of the part, and nothing after it. */
const protocolVersion = 3
const endpoint = /^DataPartsExchange:\/tieline\/(\w+)\/replicas\/(\w+)$/

/**
 * Hands the parts of a replica to another one, as ClickHouse's interserver port does. `find` gives
 * the part of a name of a table of a database, or nothing.
 */
export function createExchange(
  find: (database: string, table: string, part: string) => Promise<StoredPart | undefined>,
): Server {
  return createServer(async (request, response) => {
    request.resume()
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    const [, table, database] = endpoint.exec(searchParams.get('endpoint') ?? '') ?? []
    const name = searchParams.get('part') ?? ''
    try {
      if (table === undefined || database === undefined) throw new Error('no such endpoint')
      const part = await find(database, table, name)
      if (part === undefined) throw new Error(`no part ${name} in ${database}.${table}`)
      const body = toBody(part)
      response.setHeader('Set-Cookie', `server_protocol_version=${protocolVersion}`)
      response.end(body)
    } catch (error) {
      response.statusCode = 500
      response.end(String(error))
    }
  })
}

function toBody({ path, type }: StoredPart): Buffer {
  const files = readdirSync(path)
    .filter((name) => name !== 'txn_version.txt')
    .map((name) => ({ name, bytes: readFileSync(join(path, name)) }))
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0)
  const noTtl = textOf('ttl format version: 1\n{}')
  const head = [numberOf(size), noTtl, textOf(type), numberOf(files.length)]
  const each = files.flatMap(({ name, bytes }) => [
    textOf(name),
    numberOf(bytes.length),
    bytes,
    hashOfFile(bytes),
  ])
  return Buffer.concat([...head, ...each])
}

function numberOf(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

/** Names are far shorter than 128 bytes, so that their length is one byte. */
function textOf(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')])
}
