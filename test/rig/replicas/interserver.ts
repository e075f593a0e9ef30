import type { Memory } from './memory.js'

/**
 * Where the engine's shared context holds how other replicas reach it: ClickHouse 26.7 on x86-64.
 * Host, port, scheme, a mutex, the pointer to the credentials, then the paths of the data folder.
 */
const layout = { host: 0, port: 0x18, scheme: 0x20, credentials: 0x60, path: 0x70, flags: 0x88 }
const stringBytes = 24
const wordBytes = 8
const credentialsBytes = 48
/** A longer string is kept elsewhere, behind a pointer. */
const inlineLengthMax = 22

export interface Interserver {
  /** Data path of the engine, as it was opened, with a slash at its end. */
  readonly path: string
  readonly host: string
  readonly port: number
}

/**
 * Sets the interserver address of the engine in this process, which only ClickHouse's server program
 * does: without it all replicated tables stay read-only. Call it before the first one is created.
 * Throws where the context is not found exactly once, as in another version of the engine.
 */
export function setInterserver(memory: Memory, { path, host, port }: Interserver): void {
  const context = findContext(memory, path)
  memory.write(context + layout.host, inlineString(host))
  memory.write(context + layout.scheme, inlineString('http'))
  memory.write(context + layout.credentials, word(findNoCredentials(memory)))
  const number = Buffer.alloc(2)
  number.writeUInt16LE(port)
  memory.write(context + layout.port, number)
}

/** The one place that has nothing set where the address belongs, then the paths of the engine. */
function findContext(memory: Memory, path: string): number {
  if (path.length <= inlineLengthMax) throw new Error(`${path} is too short to be found in memory`)
  const regions = memory
    .regions()
    .filter(({ access, file }) => access === 'rw-p' && !file.startsWith('/'))
  const found = memory
    .find(regions, word(path.length))
    .map((hit) => hit - wordBytes - layout.path)
    .filter((at) => isContext(memory, at, path))
  const [context] = found
  if (context !== undefined && found.length === 1) return context
  throw new Error(
    `the engine's interserver address was found ${found.length} times in memory, not once: its layout is another one than that of ClickHouse 26.7 on x86-64`,
  )
}

function isContext(memory: Memory, at: number, path: string): boolean {
  const bytes = memory.read(at, layout.flags + stringBytes)
  const wordAt = (offset: number) => Number(bytes.readBigUInt64LE(offset))
  return (
    bytes.length === layout.flags + stringBytes &&
    bytes.subarray(0, layout.path).every((byte) => byte === 0) &&
    wordAt(layout.flags + wordBytes) === `${path}flags/`.length &&
    memory.read(wordAt(layout.path), path.length).toString('latin1') === path
  )
}

/** Two empty strings, user and password, that nothing changes: zeros among the constants. */
function findNoCredentials(memory: Memory): number {
  const constants = memory
    .regions()
    .find(({ access, file }) => access === 'r--p' && file.endsWith('/libchdb.so'))
  if (constants === undefined) throw new Error('the library of the engine is not in memory')
  const bytes = memory.read(constants.from, 2 ** 20)
  for (let at = 0; at < bytes.length; at += credentialsBytes) {
    if (bytes.subarray(at, at + credentialsBytes).every((byte) => byte === 0)) {
      return constants.from + at
    }
  }
  throw new Error('the library of the engine has no zeros to point to')
}

function word(value: number): Buffer {
  const bytes = Buffer.alloc(wordBytes)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

/** A short string as the engine's C++ library keeps it: its bytes, its length at the end. */
function inlineString(text: string): Buffer {
  const bytes = Buffer.alloc(stringBytes)
  bytes.write(text, 'latin1')
  bytes[stringBytes - 1] = text.length
  return bytes
}
