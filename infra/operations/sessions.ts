import { createHash, randomBytes } from 'node:crypto'

/** Sessions of signed-in users, in memory: they end with the process. */
export interface PageSessions {
  /** A new session; returns its id, the only copy. */
  begin(who: string): string
  /** The user of a session, whose idle time begins again; undefined if it has ended. */
  find(id: string): string | undefined
  end(id: string): void
}

export interface PageSessionLimits {
  /** A session ends when it was not used for this long. */
  readonly idleMs: number
  /** A session ends at this age, used or not. */
  readonly ageMs: number
  /** Of one user; the one that was unused for longest makes place for another. */
  readonly perUser: number
}

/** A pause, a shift, and the devices of a person. */
const sessionLimits: PageSessionLimits = {
  idleMs: 3_600_000,
  ageMs: 12 * 3_600_000,
  perUser: 10,
}

interface Session {
  readonly who: string
  readonly beganMs: number
  usedMs: number
}

const idBytes = 32

/**
 * Ids are random; only their hash is kept, so that a lookup does not reveal one by its duration. Their
 * clock is not that of the wall, which somebody may set back.
 */
export function createPageSessions(
  { idleMs, ageMs, perUser }: PageSessionLimits = sessionLimits,
  now: () => number = () => performance.now(),
): PageSessions {
  const sessions = new Map<string, Session>()
  const isOver = ({ beganMs, usedMs }: Session) =>
    now() - beganMs >= ageMs || now() - usedMs >= idleMs
  const makePlace = (who: string): void => {
    for (const [key, session] of sessions) if (isOver(session)) sessions.delete(key)
    const own = [...sessions].filter(([, session]) => session.who === who)
    own.sort(([, a], [, b]) => a.usedMs - b.usedMs)
    for (const [key] of own.slice(0, Math.max(0, own.length - perUser + 1))) sessions.delete(key)
  }
  return {
    begin: (who) => {
      makePlace(who)
      const id = randomBytes(idBytes).toString('base64url')
      sessions.set(keyOf(id), { who, beganMs: now(), usedMs: now() })
      return id
    },
    find: (id) => {
      const session = sessions.get(keyOf(id))
      if (session === undefined) return undefined
      if (isOver(session)) {
        sessions.delete(keyOf(id))
        return undefined
      }
      session.usedMs = now()
      return session.who
    },
    end: (id) => void sessions.delete(keyOf(id)),
  }
}

function keyOf(id: string): string {
  return createHash('sha256').update(id).digest('base64')
}
