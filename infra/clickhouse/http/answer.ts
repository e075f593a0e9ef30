import type { ServerResponse } from 'node:http'
import type { Readable } from '../access.js'
import type { Engine } from '../engine.js'
import type { StatementKiller } from '../killer.js'
import type { Lanes } from '../lanes.js'
import type { Reports } from '../progress.js'
import { type RunContext, run, setFormat } from '../run.js'
import { freshLease, type Sessions } from '../sessions.js'
import { errorForReader } from '../sql/hidden.js'
import type { OwnKill } from '../sql/kill.js'
import { commentOf, prepare } from '../sql/session-settings.js'
import { keepsSession, stringLiteral } from '../sql/statement.js'
import type { StoreUser } from './auth.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import { exceptionOf } from './exception.js'
import type { Reply, Summary } from './reply.js'

export interface AnswerContext extends RunContext {
  readonly engine: Engine
  readonly readable: Readable
  readonly lanes: Lanes
  readonly sessions: Sessions
  /** Running statements, as `system.processes` knows them. */
  readonly running: Set<string>
  readonly reports: Reports
  readonly killer: StatementKiller
  readonly asServer: AsServer | undefined
}

/** As a server behind a proxy: a statement goes on when its client leaves, silent connections are cut. */
export interface AsServer {
  readonly silentMsMax: number
}

export interface PendingCall {
  readonly call: Call
  readonly client: StoreUser
  readonly reply: Reply
  readonly body: Body
  readonly response: ServerResponse
  /** Of a result, as it is sent. */
  readonly resultBytesMax: number
  readonly onSummary?: ((summary: Summary) => void) | undefined
}

/**
 * Runs one call on a new connection or on that of its session. If the client disconnects, the statement
 * is killed and stores no more data, unless the engine behaves as a server.
 */
export async function answer(context: AnswerContext, pending: PendingCall): Promise<void> {
  const { call, client, reply, response } = pending
  const comment = commentOf(client, call)
  if (context.running.has(comment)) {
    throw exceptionOf(
      'QUERY_WITH_SAME_ID_IS_ALREADY_RUNNING',
      `Query with id = ${call.queryId} is already running`,
    )
  }
  context.running.add(comment)
  const stop = (): void => context.killer.kill(comment)
  const onClose = (): void => {
    if (!response.writableFinished) stop()
  }
  let leave: (() => void) | undefined
  let unwatch: (() => void) | undefined
  let rest: Buffer | undefined
  try {
    leave = await context.lanes.acquire(client)
    if (context.asServer === undefined) response.once('close', onClose)
    if (call.progressMs !== undefined) {
      const intervalMs = call.progressMs
      unwatch = context.reports.watch({ comment, intervalMs, report: reply.progress })
    }
    rest = await runLeased(context, pending, stop).catch(async (error: unknown) => {
      if (client.role === 'writer') throw error
      throw await errorForReader(context, { ...client, query: call.query }, error)
    })
  } finally {
    unwatch?.()
    context.killer.forget(comment)
    response.off('close', onClose)
    context.running.delete(comment)
    leave?.()
  }
  await reply.end(rest)
}

async function runLeased(
  context: AnswerContext,
  pending: PendingCall,
  stop: () => void,
): Promise<Buffer | undefined> {
  const { call, client, reply, body, resultBytesMax, onSummary } = pending
  const { role } = client
  const { engine, sessions } = context
  const lease = role === 'reader' ? freshLease(engine) : await sessions.lease(call)
  let isAsBefore = false
  try {
    const isPlain = await prepare(lease, call, client)
    if (reply.isGone && context.asServer === undefined)
      throw exceptionOf('QUERY_WAS_CANCELLED', 'The client disconnected')
    const work = {
      call,
      role,
      connection: lease.connection,
      reply,
      stop,
      resultBytesMax,
      onSummary,
    }
    const rest = await run(context, work, body)
    isAsBefore = isPlain && keepsSession(call.query)
    return rest
  } finally {
    await lease.release(isAsBefore)
  }
}

/**
 * Kills one of the client's own statements and answers like the engine, which would show the statement as
 * it was changed here.
 */
export async function answerKill(
  { engine, lanes }: AnswerContext,
  { call, client, reply }: PendingCall,
  { queryId, format = call.format }: OwnKill,
): Promise<void> {
  const leave = await lanes.acquireForKill()
  const lease = freshLease(engine)
  try {
    const comment = stringLiteral(commentOf(client, { queryId }))
    const kill = `KILL QUERY WHERE Settings['log_comment'] = ${comment} ASYNC`
    const { rows } = await lease.connection.query(kill, 'TabSeparated')
    const found = `SELECT 'waiting' AS kill_status, ${stringLiteral(queryId)} AS query_id, ${stringLiteral(client.name)} AS user, '' AS query WHERE ${rows > 0}`
    const { bytes } = await lease.connection.query(found, format)
    setFormat(reply, format)
    await reply.end(bytes)
  } finally {
    await lease.release()
    leave()
  }
}
