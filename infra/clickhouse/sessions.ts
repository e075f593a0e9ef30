import type { Connection, Engine } from './engine.js'
import type { Call, SessionRequest } from './http/call.js'
import { exceptionOf } from './http/exception.js'
import { stringLiteral } from './sql/statement.js'

/** A connection for one call. */
export interface Lease {
  readonly connection: Connection
  /** Whether the connection has the database and the settings of the call already. */
  readonly isSet: boolean
  /** Closes the connection, or returns it to its session; one that the call left as it was, to later calls. */
  release(isAsBefore?: boolean): Promise<void>
}

interface Session {
  readonly connection: Connection
  isBusy: boolean
  expiry: NodeJS.Timeout | undefined
}

interface Kept {
  readonly connection: Connection
  readonly key: string
}

/** Connections without a session that are kept. */
const keptMax = 8

export interface Sessions {
  /** A connection for a call of the writer. Throws SESSION_IS_LOCKED (373) while another call uses the session. */
  lease(call: Call): Promise<Lease>
}

/**
 * Keeps one connection per session, so that temporary tables and SETs last between calls until the
 * session times out. Settings in a URL still apply to one call only. Other connections are kept for
 * calls that set the same: to make one takes a fifth of what a small statement does.
 */
export function createSessions(engine: Engine): Sessions {
  const sessions = new Map<string, Session>()
  const kept: Kept[] = []
  return {
    lease: async (call) => {
      if (call.session === undefined) return keptLease(engine, kept, keyOf(call))
      const session = enter(engine, sessions, call.session)
      const { id, timeoutMs } = call.session
      const leave = (): void => {
        session.isBusy = false
        session.expiry = setTimeout(() => {
          sessions.delete(id)
          session.connection.close()
        }, timeoutMs)
      }
      const undo = await undoOf(session.connection, call).catch((error: unknown) => {
        leave()
        throw error
      })
      const release = async (): Promise<void> => {
        if (undo !== undefined) await session.connection.query(undo, 'Null').catch(() => undefined)
        leave()
      }
      return { connection: session.connection, isSet: false, release }
    },
  }
}

/** A new connection for a single call. */
export function freshLease(engine: Engine): Lease {
  const connection = engine.connect()
  return { connection, isSet: false, release: async () => connection.close() }
}

/** A connection on which a call before has set the same, if there is one. */
function keptLease(engine: Engine, kept: Kept[], key: string): Lease {
  const at = kept.findLastIndex((one) => one.key === key)
  const found = at < 0 ? undefined : kept.splice(at, 1)[0]?.connection
  const connection = found ?? engine.connect()
  const release = async (isAsBefore = false): Promise<void> => {
    if (!isAsBefore) return connection.close()
    kept.push({ connection, key })
    if (kept.length > keptMax) kept.shift()?.connection.close()
  }
  return { connection, isSet: found !== undefined, release }
}

/** What a call sets that the next one may find: each sets its own parameters, under these names. */
function keyOf({ database, set, params }: Call): string {
  return JSON.stringify([database, set, params.map(([name]) => name).sort()])
}

/** Runs `use` on a connection of its own. */
export async function onFreshLease<T>(
  engine: Engine,
  use: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { connection, release } = freshLease(engine)
  return use(connection).finally(release)
}

function enter(engine: Engine, sessions: Map<string, Session>, request: SessionRequest): Session {
  const found = sessions.get(request.id)
  if (found === undefined && request.mustExist) {
    throw exceptionOf('SESSION_NOT_FOUND', `Session ${request.id} not found`)
  }
  if (found?.isBusy) {
    throw exceptionOf('SESSION_IS_LOCKED', `Session ${request.id} is locked by a concurrent client`)
  }
  clearTimeout(found?.expiry)
  const session = found ?? { connection: engine.connect(), isBusy: true, expiry: undefined }
  session.isBusy = true
  sessions.set(request.id, session)
  return session
}

/** The SET statement that restores the settings that a call changes. */
async function undoOf(connection: Connection, call: Call): Promise<string | undefined> {
  if (call.settings.length === 0) return undefined
  const names = call.settings.map(([name]) => stringLiteral(name)).join(', ')
  const before = await connection.query(
    `SELECT name, value FROM system.settings WHERE name IN (${names})`,
    'JSONCompactEachRow',
  )
  const rows = before.bytes.toString('utf8').split('\n').filter(Boolean)
  if (rows.length === 0) return undefined
  const set = rows.map((row) => {
    const [name, value] = JSON.parse(row) as [string, string]
    return `${name} = ${stringLiteral(value)}`
  })
  return `SET ${set.join(', ')}`
}
