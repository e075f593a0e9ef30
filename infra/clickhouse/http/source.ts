import type { ReaderLimits } from '../reader-limits.js'
import { readInsert } from '../sql/insert.js'
import { isInsert } from '../sql/statement.js'
import { type Body, createBody, textOf } from './body.js'
import { exceptionOf } from './exception.js'

/** The fields of one request, including the query, and its data. */
export interface QuerySource {
  readonly fields: URLSearchParams
  readonly data: Body
}

interface SourceOptions {
  readonly contentType: string | undefined
  /** Of a reader, who sends no data. */
  readonly limits?: ReaderLimits | undefined
}

const noBody = createBody(Buffer.alloc(0), undefined, 'none')

/**
 * Finds query and data in URL and body: the body is the data of an INSERT in the URL, or the query or
 * its continuation, or a form with query and parameters.
 */
export async function readQuerySource(
  url: URLSearchParams,
  body: Body,
  { contentType, limits }: SourceOptions,
): Promise<QuerySource> {
  const query = url.get('query') ?? ''
  if (isInsert(query)) return { fields: url, data: body }
  if (body.path === undefined && body.head.length === 0) return { fields: url, data: noBody }
  const bytes = await textOf(body, limits?.bodyBytes)
  const boundary = boundaryOf(contentType)
  if (boundary !== undefined) {
    const form = new Map(readForm(bytes.toString('utf8'), boundary))
    const others = [...url].filter(([name]) => !form.has(name))
    return { fields: new URLSearchParams([...others, ...form]), data: noBody }
  }
  const fields = new URLSearchParams(url)
  const mayHaveData = query === '' && limits === undefined
  const cut = mayHaveData ? dataStart(bytes) : bytes.length
  const text = bytes.subarray(0, cut).toString('utf8')
  if (text.includes('\0')) throw exceptionOf('SYNTAX_ERROR', 'Syntax error: a NUL in the query')
  fields.set('query', query === '' ? text : `${query}\n${text}`)
  return { fields, data: createBody(bytes.subarray(afterBreak(bytes, cut)), undefined, 'none') }
}

/** Where the data of an INSERT begin if statement and data share the body. */
function dataStart(bytes: Buffer): number {
  const latin = bytes.toString('latin1')
  if (!isInsert(latin)) return bytes.length
  const insert = readInsert(latin)
  if (insert.kind === 'complete') return bytes.length
  return insert.kind === 'data' && insert.format === 'Values' ? bytes.length : insert.dataAt
}

/** ClickHouse skips white space up to the first line break between FORMAT and the data. */
function afterBreak(bytes: Buffer, cut: number): number {
  let at = cut
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0c) at++
  if (bytes[at] === 0x0d) at++
  if (bytes[at] === 0x0a) at++
  return at
}

/** The boundary of a multipart form, or undefined for any other body. */
function boundaryOf(contentType: string | undefined): string | undefined {
  const match = /^multipart\/form-data\b.*?;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(
    contentType ?? '',
  )
  return match?.[1] ?? match?.[2]
}

/**
 * Parses the fields of a multipart form (RFC 7578): a query and its parameters that are too long for
 * the URL. Refuses external tables.
 */
function readForm(text: string, boundary: string): [name: string, value: string][] {
  const parts = text.split(`--${boundary}`).slice(1)
  const fields: [string, string][] = []
  for (const part of parts) {
    if (part.startsWith('--')) return fields
    const headEnd = part.indexOf('\r\n\r\n')
    const name = /^content-disposition:.*\bname="([^"]*)"/im.exec(part.slice(0, headEnd))?.[1]
    if (headEnd === -1 || name === undefined) break
    if (name !== 'query' && !name.startsWith('param_')) {
      throw exceptionOf('NOT_IMPLEMENTED', `External table ${name}: put the rows into a table`)
    }
    fields.push([name, part.slice(headEnd + 4).replace(/\r\n$/, '')])
  }
  throw exceptionOf('INCORRECT_DATA', 'The multipart form is not complete')
}
