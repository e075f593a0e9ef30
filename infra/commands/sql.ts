import { pipeline } from 'node:stream/promises'
import type { StoreAddress } from '../../pipeline/store/clickhouse.js'
import { statementOf } from '../../pipeline/store/sql.js'
import { Fault } from '../../schemas/fault.js'
import { withStore } from '../stack/connections.js'
import { type Context, exitCodes } from './context.js'
import { forTerminal } from './output/terminal.js'
import { useData } from './use-stack.js'

/**
 * Runs one statement that reads, and streams its result to standard output. Reports an empty result on
 * standard error. Throws `CONFIG` for an empty statement.
 */
export async function sqlCommand(
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
    printResult(context.external.clickhouseReaderUrl === undefined ? stack.store : stack.reader, {
      statement,
      ...options,
    }),
  )
  if (isEmpty) context.say('no rows')
  return exitCodes.good
}

/**
 * Streams the result of a query to standard output and resolves whether it was empty. Throws the
 * store's fault with its reason.
 */
export function printResult(
  store: StoreAddress,
  query: { readonly statement: string; readonly format: string },
): Promise<boolean> {
  return withStore(store, async (connection) => {
    const result = await connection.stream(
      {
        sql: statementOf(`${withoutEnd(query.statement)}\n`),
        settings: { readonly: 2 },
      },
      query.format,
    )
    let isEmpty = true
    const noted = async function* (chunks: AsyncIterable<Buffer | string>) {
      for await (const chunk of process.stdout.isTTY ? forTerminal(chunks) : chunks) {
        isEmpty = false
        yield chunk
      }
    }
    await pipeline(result, noted, process.stdout, { end: false })
    return isEmpty
  })
}

/** A statement without its final semicolon. */
function withoutEnd(statement: string): string {
  return statement.replace(/[\s;]+$/, '')
}
