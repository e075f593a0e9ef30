import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '../engine.js'
import { type Desk, run } from '../run.js'
import type { Lanes } from '../semaphore.js'
import { freshLease, type Sessions } from '../sessions.js'
import { prepare } from '../sql/session-settings.js'
import { literal } from '../sql/statement.js'
import type { Role } from './auth.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import { exceptionOf } from './exception.js'
import type { Reply } from './reply.js'

export interface Counter extends Desk {
  readonly engine: Engine
  readonly lanes: Lanes
  readonly sessions: Sessions
  /** Query ids of the statements that run. */
  readonly running: Set<string>
}

export interface Order {
  readonly call: Call
  readonly role: Role
  readonly reply: Reply
  readonly body: Body
  readonly response: ServerResponse
}

/**
 * Runs one call on a connection of its own or of its session. When the client goes away the
 * statement is killed, and what it had not stored is not stored.
 */
export async function answer(counter: Counter, order: Order): Promise<void> {
  const { call, reply, response } = order
  if (counter.running.has(call.queryId)) {
    throw exceptionOf(
      'QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING',
      `Query with id = ${call.queryId} is already running`,
    )
  }
  counter.running.add(call.queryId)
  const finished = new AbortController()
  const onClose = (): void => {
    if (!response.writableFinished) void killUntil(counter.engine, call.queryId, finished.signal)
  }
  const leave = await counter.lanes.enter()
  let rest: Buffer | undefined
  try {
    response.once('close', onClose)
    rest = await runLeased(counter, order)
  } finally {
    finished.abort()
    response.off('close', onClose)
    counter.running.delete(call.queryId)
    leave()
  }
  await reply.end(rest)
}

async function runLeased(counter: Counter, order: Order): Promise<Buffer | undefined> {
  const { call, role, reply, body } = order
  const isFresh = call.session === undefined || role === 'reader'
  const lease = isFresh ? freshLease(counter.engine) : await counter.sessions.lease(call)
  try {
    await prepare(lease.connection, call, role)
    if (reply.isGone) throw exceptionOf('QUERY_WAS_CANCELLED', 'The client went away')
    return await run(counter, { call, role, connection: lease.connection, reply }, body)
  } finally {
    await lease.release()
  }
}

/** The statement may not have begun when its client leaves: hence again and again. */
async function killUntil(engine: Engine, queryId: string, signal: AbortSignal): Promise<void> {
  const sql = `KILL QUERY WHERE Settings['log_comment'] = ${literal(queryId)} ASYNC`
  while (!signal.aborted) {
    const lease = freshLease(engine)
    await lease.connection.query(sql, 'Null').catch(() => undefined)
    await lease.release()
    await sleep(50, undefined, { signal }).catch(() => undefined)
  }
}
