import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '../engine.js'
import { type RunContext, run } from '../run.js'
import type { Semaphore } from '../semaphore.js'
import { freshLease, type Sessions } from '../sessions.js'
import { prepare } from '../sql/session-settings.js'
import { stringLiteral } from '../sql/statement.js'
import type { Role } from './auth.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import { exceptionOf } from './exception.js'
import type { Reply } from './reply.js'

export interface AnswerContext extends RunContext {
  readonly engine: Engine
  readonly semaphore: Semaphore
  readonly sessions: Sessions
  /** Query ids of running statements. */
  readonly running: Set<string>
  readonly asServer: AsServer | undefined
}

/** As a server behind a proxy: a statement goes on when its client leaves, silent connections are cut. */
export interface AsServer {
  readonly silentMsMax: number
}

export interface PendingCall {
  readonly call: Call
  readonly role: Role
  readonly reply: Reply
  readonly body: Body
  readonly response: ServerResponse
}

/**
 * Runs one call on a new connection or on that of its session. If the client disconnects, the statement
 * is killed and stores no more data, unless the engine behaves as a server.
 */
export async function answer(context: AnswerContext, pending: PendingCall): Promise<void> {
  const { call, reply, response } = pending
  if (context.running.has(call.queryId)) {
    throw exceptionOf(
      'QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING',
      `Query with id = ${call.queryId} is already running`,
    )
  }
  context.running.add(call.queryId)
  const finished = new AbortController()
  const onClose = (): void => {
    if (!response.writableFinished) void killUntil(context.engine, call.queryId, finished.signal)
  }
  const leave = await context.semaphore.acquire()
  let rest: Buffer | undefined
  try {
    if (context.asServer === undefined) response.once('close', onClose)
    rest = await runLeased(context, pending)
  } finally {
    finished.abort()
    response.off('close', onClose)
    context.running.delete(call.queryId)
    leave()
  }
  await reply.end(rest)
}

async function runLeased(
  context: AnswerContext,
  pending: PendingCall,
): Promise<Buffer | undefined> {
  const { call, role, reply, body } = pending
  const isFresh = call.session === undefined || role === 'reader'
  const lease = isFresh ? freshLease(context.engine) : await context.sessions.lease(call)
  try {
    await prepare(lease.connection, call, role)
    if (reply.isGone && context.asServer === undefined)
      throw exceptionOf('QUERY_WAS_CANCELLED', 'The client disconnected')
    return await run(context, { call, role, connection: lease.connection, reply }, body)
  } finally {
    await lease.release()
  }
}

/** Repeats the KILL, because the statement may not have started when its client disconnects. */
async function killUntil(engine: Engine, queryId: string, signal: AbortSignal): Promise<void> {
  const sql = `KILL QUERY WHERE Settings['log_comment'] = ${stringLiteral(queryId)} ASYNC`
  while (!signal.aborted) {
    const lease = freshLease(engine)
    await lease.connection.query(sql, 'Null').catch(() => undefined)
    await lease.release()
    await sleep(50, undefined, { signal }).catch(() => undefined)
  }
}
