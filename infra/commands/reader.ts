import { recordAct } from '../../pipeline/ledger/audit.js'
import { Fault } from '../../schemas/fault.js'
import {
  addReader,
  listReaders,
  readersFolder,
  refuseReader,
  removeReader,
} from '../clickhouse/readers.js'
import { commandActor } from '../stack/actor.js'
import { withStore } from '../stack/connections.js'
import { type Context, exitCodes } from './context.js'
import { renderTable } from './output/table.js'
import { type InUse, useData } from './use-stack.js'

export interface ReaderOptions {
  readonly audit: boolean
}

/**
 * Adds, lists or removes readers of the embedded ClickHouse, which takes changes up at once. Prints the
 * password of a new reader, which is stored nowhere. Throws `CONFIG`.
 */
export async function readerCommand(
  context: Context,
  [act = '', name, ...rest]: readonly string[],
  options: ReaderOptions,
): Promise<number> {
  const isKnown = name === undefined ? act === 'list' : act === 'add' || act === 'remove'
  if (!isKnown || rest.length > 0 || (options.audit && act !== 'add')) {
    throw new Fault('CONFIG', 'use reader add NAME [--audit], reader list or reader remove NAME')
  }
  if (context.external.clickhouseUrl !== undefined) {
    const remedy = 'create them there with the role of tieline ddl --grants'
    throw new Fault('CONFIG', `readers of the server of CLICKHOUSE_URL are its users; ${remedy}`)
  }
  return useData(context, 'reader', async (stack) => {
    const folder = readersFolder(stack.home.clickhouse)
    if (name === undefined) return list(context, folder)
    refuseReader(folder, act === 'remove' ? 'remove' : 'add', name)
    const detail = `${act}${options.audit ? ' with audit' : ''}`
    await record(stack, { name, detail })
    if (act === 'remove') {
      removeReader(folder, name)
      context.print(`${name} can no longer log in`)
      return exitCodes.good
    }
    const password = addReader(folder, { name, seesAudit: options.audit })
    const { url, database } = stack.store
    context.say(`the password of ${name}, shown only now, for ${url}, database ${database}:`)
    context.print(password)
    return exitCodes.good
  })
}

function list(context: Context, folder: string): number {
  const readers = listReaders(folder)
  if (readers.length === 0) context.say('no readers; add one with tieline reader add NAME')
  else context.print(renderTable(columns, readers))
  return exitCodes.good
}

const columns = [
  { title: 'reader', cell: ({ name }: Reader) => name },
  { title: 'audit', cell: ({ seesAudit }: Reader) => (seesAudit ? 'yes' : 'no') },
  { title: 'added', cell: ({ addedAt }: Reader) => addedAt },
]
type Reader = ReturnType<typeof listReaders>[number]

async function record(
  { store: address }: InUse,
  { name, detail }: { readonly name: string; readonly detail: string },
): Promise<void> {
  await withStore(address, (store) =>
    recordAct(store, commandActor(), { act: 'reader', subject: name, detail }),
  )
}
