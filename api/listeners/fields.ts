/**
 * The header fields that the gateway uses. Repeated fields are joined by a comma, which is invalid
 * for each of them but the two that are lists: `accept-encoding` and `if-none-match`.
 */
export interface Fields {
  authorization: string | undefined
  contentLength: string | undefined
  transferEncoding: string | undefined
  requestId: string | undefined
  acceptEncoding: string | undefined
  ifNoneMatch: string | undefined
  hosts: number
  /** Whether the client asks for the connection to be closed. */
  closes: boolean
  /** Characters of all fields with their separators. */
  bytes: number
}

/** Reads the headers of one request at a time; `fields` are those of the latest. */
export interface FieldReader {
  readonly fields: Readonly<Fields>
  clear(): void
  /** Adds one field; its name is in lower case. */
  see(name: string, value: string): void
}

/** A colon, a space and the line break. */
const separatorBytes = 4

/** A listener that captures each request synchronously reuses one reader and allocates nothing. */
export function createFieldReader(): FieldReader {
  const fields: Fields = {
    authorization: undefined,
    contentLength: undefined,
    transferEncoding: undefined,
    requestId: undefined,
    acceptEncoding: undefined,
    ifNoneMatch: undefined,
    hosts: 0,
    closes: false,
    bytes: 0,
  }
  return {
    fields,
    clear: () => {
      fields.authorization = undefined
      fields.contentLength = undefined
      fields.transferEncoding = undefined
      fields.requestId = undefined
      fields.acceptEncoding = undefined
      fields.ifNoneMatch = undefined
      fields.hosts = 0
      fields.closes = false
      fields.bytes = 0
    },
    see: (name, value) => {
      fields.bytes += name.length + value.length + separatorBytes
      switch (name) {
        case 'authorization':
          fields.authorization = join(fields.authorization, value)
          break
        case 'content-length':
          fields.contentLength = join(fields.contentLength, value)
          break
        case 'transfer-encoding':
          fields.transferEncoding = join(fields.transferEncoding, value)
          break
        case 'x-request-id':
          fields.requestId = join(fields.requestId, value)
          break
        case 'accept-encoding':
          fields.acceptEncoding = join(fields.acceptEncoding, value)
          break
        case 'if-none-match':
          fields.ifNoneMatch = join(fields.ifNoneMatch, value)
          break
        case 'host':
          fields.hosts++
          break
        case 'connection':
          fields.closes ||= /\bclose\b/i.test(value)
          break
      }
    },
  }
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}
