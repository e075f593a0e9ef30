import { resolve } from 'node:path'
import { Fault } from '../../schemas/fault.js'
import { type ReadAccess, renderTools } from '../guides/tools.js'
import { externalStore, readerUser } from '../stack/addresses.js'
import { isHome, secretsPathOf } from '../stack/home.js'
import { readOwnProfile } from '../stack/profile-file.js'
import { readRun } from '../stack/run-state.js'
import { serverPortsWanted } from '../stack/servers.js'
import { type Context, exitCodes } from './context.js'

/** Prints address, reader and ready commands for the usual tools. Starts nothing and prints no password. */
export async function connectTools(context: Context): Promise<number> {
  context.print(renderTools(accessOf(context)).trimEnd())
  return exitCodes.good
}

function accessOf({ homePath, profilePath, external, say }: Context): ReadAccess {
  const path = resolve(homePath)
  const run = readRun({ path })
  const database = run?.database ?? readOwnProfile(profilePath, homePath).database
  const servers = externalStore(external, database)
  if (servers !== undefined) {
    const { url } = servers.reader
    if (external.clickhouseReaderUrl === undefined) {
      return { url, database, user: 'ada', password: { kind: 'administrator' } }
    }
    const password = { kind: 'setting', name: 'CLICKHOUSE_READER_URL' } as const
    return { url, database, user: servers.reader.username, password }
  }
  if (!isHome(path)) {
    const remedy = 'name the data folder with --home, or create one with tieline up'
    throw new Fault('CONFIG', `${path} holds no data of Tieline; ${remedy}`)
  }
  const isUp = run?.stays === true
  if (!isUp)
    say('Tieline is not running here; start it with tieline up, and run this command again')
  const url = isUp ? run.clickhouse.url : `http://127.0.0.1:${serverPortsWanted.clickhouse}`
  const password = { kind: 'file', homePath: path, path: secretsPathOf(path) } as const
  return { url, database, user: readerUser, password }
}
