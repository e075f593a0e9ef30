import type { Connection, Engine } from './engine.js'
import type { Call, SessionRequest } from './http/call.js'
import { exceptionOf } from './http/exception.js'
import { stringLiteral } from './sql/statement.js'

/** A connection for one call; `release` closes it, or returns it to its session. */
export interface Lease {
  readonly connection: Connection
  release(): Promise<void>
}

interface Session {
  readonly connection: Connection
  isBusy: boolean
  expiry: NodeJS.Timeout | undefined
}

export interface Sessions {
  /** Throws SESSION_IS_LOCKED (373) while another call uses the session. */
  lease(call: Call): Promise<Lease>
}

/**
 * Keeps one connection per session, so that temporary tables and SETs last between calls until the
 * session times out. Settings in a URL still apply to one call only.
 */
export function createSessions(engine: Engine): Sessions {
  const sessions = new Map<string, Session>()
  return {
    lease: async (call) => {
      if (call.session === undefined) return freshLease(engine)
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
      return { connection: session.connection, release }
    },
  }
}

/** A new connection for a single call. */
export function freshLease(engine: Engine): Lease {
  const connection = engine.connect()
  return { connection, release: async () => connection.close() }
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
