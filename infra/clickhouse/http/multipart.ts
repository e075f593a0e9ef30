import { exceptionOf } from './exception.js'

/** The boundary of a multipart form, or undefined for any other body. */
export function boundaryOf(contentType: string | undefined): string | undefined {
  const match = /^multipart\/form-data\b.*?;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(
    contentType ?? '',
  )
  return match?.[1] ?? match?.[2]
}

/**
 * Reads the fields of a multipart form (RFC 7578): the query and its parameters, for which the URL
 * would be too short. Refuses external tables.
 */
export function readForm(text: string, boundary: string): [name: string, value: string][] {
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
