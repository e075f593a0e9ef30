import { pipeline } from 'node:stream/promises'
import { createStore } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import type { Addresses } from '../stack/addresses.js'
import { type Context, exitCodes } from './context.js'
import { useData } from './use-stack.js'

/**
 * Runs one statement as the reader and writes its result to standard output as it comes; that it has
 * no rows is said beside it. Throws `CONFIG` for an empty statement.
 */
export async function sql(
  context: Context,
  statement: string,
  options: { readonly format: string },
): Promise<number> {
  if (withoutEnd(statement).trim() === '') {
    throw new Fault(
      'CONFIG',
      'the statement is empty; write one, such as "SELECT count() FROM usage"',
    )
  }
  const isEmpty = await useData(context, 'sql', (stack) =>
    printResult(stack, { statement, ...options }),
  )
  if (isEmpty) context.say('no rows')
  return exitCodes.good
}

/**
 * Streams a query's result to standard output and resolves whether nothing was written. Throws the
 * store's fault with its reason.
 */
export async function printResult(
  addresses: Pick<Addresses, 'store' | 'reader'>,
  query: { readonly statement: string; readonly format: string },
): Promise<boolean> {
  const { reader, store } = addresses
  const restricted = reader.username === store.username
  const connection = createStore(reader)
  try {
    const result = await connection.stream(
      { sql: `${withoutEnd(query.statement)}\n`, ...(restricted && { settings: { readonly: 2 } }) },
      query.format,
    )
    let isEmpty = true
    const noted = async function* (chunks: AsyncIterable<Buffer | string>) {
      for await (const chunk of chunks) {
        isEmpty = false
        yield chunk
      }
    }
    await pipeline(result, noted, process.stdout, { end: false })
    return isEmpty
  } finally {
    await connection.close()
  }
}

/** A statement without the semicolon that people end it with. */
function withoutEnd(statement: string): string {
  return statement.replace(/[\s;]+$/, '')
}
