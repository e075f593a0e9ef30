/**
 * The header fields on which anything hangs. Of one that came twice both values stand, joined by a
 * comma, which no reader of theirs takes for a value.
 */
export interface Fields {
  authorization: string | undefined
  contentLength: string | undefined
  transferEncoding: string | undefined
  requestId: string | undefined
  /** Characters of all fields, with what separates them. */
  bytes: number
}

/** Reads the header of one request after the other; `fields` are those of the latest. */
export interface FieldReader {
  readonly fields: Readonly<Fields>
  clear(): void
  /** Takes one field; its name in lower case. */
  see(name: string, value: string): void
}

/** A colon, a blank and the end of the line. */
const separatorBytes = 4

/** One reader for all requests of a listener that reads each at once costs no memory for any. */
export function createFieldReader(): FieldReader {
  const fields: Fields = {
    authorization: undefined,
    contentLength: undefined,
    transferEncoding: undefined,
    requestId: undefined,
    bytes: 0,
  }
  return {
    fields,
    clear: () => {
      fields.authorization = undefined
      fields.contentLength = undefined
      fields.transferEncoding = undefined
      fields.requestId = undefined
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
      }
    },
  }
}

function join(before: string | undefined, value: string): string {
  return before === undefined ? value : `${before}, ${value}`
}
