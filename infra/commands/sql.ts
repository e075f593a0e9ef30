import { pipeline } from 'node:stream/promises'
import { createStore } from '../../pipeline/stores/clickhouse.js'
import type { Addresses } from '../addresses.js'
import { type Context, exitCodes } from '../context.js'
import { useData } from '../use-stack.js'

/** Runs one statement as the reader and writes its result to standard output as it comes. */
export async function sql(
  context: Context,
  statement: string,
  options: { readonly format: string },
): Promise<number> {
  await useData(context, 'sql', (stack) => printResult(stack, { statement, ...options }))
  return exitCodes.good
}

/** Streams a query's result to standard output. Throws the store's fault with its reason. */
export async function printResult(
  addresses: Pick<Addresses, 'store' | 'reader'>,
  query: { readonly statement: string; readonly format: string },
): Promise<void> {
  const { reader, store } = addresses
  const restricted = reader.username === store.username
  const connection = createStore(reader)
  try {
    const result = await connection.stream(
      { sql: `${withoutEnd(query.statement)}\n`, ...(restricted && { settings: { readonly: 2 } }) },
      query.format,
    )
    await pipeline(result, process.stdout, { end: false })
  } finally {
    await connection.close()
  }
}

/** A statement without the semicolon that people end it with. */
function withoutEnd(statement: string): string {
  return statement.replace(/[\s;]+$/, '')
}
