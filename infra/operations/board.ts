import type { IncomingMessage, ServerResponse } from 'node:http'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { HonoAdapter } from '@bull-board/hono'
import { getRequestListener } from '@hono/node-server'
import { serveStatic } from '@hono/node-server/serve-static'
import { Hono } from 'hono'
import type { Queues } from '../../pipeline/queues/bullmq.js'
import { idsOf } from '../../pipeline/queues/jobs.js'
import { Fault, faultCodes } from '../../schemas/fault.js'
import { queryQueues } from './panels/query.js'

const path = '/queues'
/** Bull Board itself waits for Redis without limit; a page of many jobs takes a moment. */
const boardMsMax = 4_000

/**
 * Bull Board, read-only: its actions would bypass the audit log. It shows only the ids of job data,
 * because registration jobs contain customers.
 */
export function createBoard({
  each,
}: Queues): (request: IncomingMessage, response: ServerResponse) => void {
  const serverAdapter = new HonoAdapter(serveStatic)
  serverAdapter.setBasePath(path)
  const queues = each.map((queue) => {
    const adapter = new BullMQAdapter(queue, { readOnlyMode: true })
    adapter.setFormatter('data', idsOf)
    return adapter
  })
  const uiConfig = { boardTitle: 'Tieline', hideRedisDetails: true }
  createBullBoard({ queues, serverAdapter, options: { uiConfig } })
  // The path of its first page has no trailing slash.
  const app = new Hono({ strict: false }).route(path, serverAdapter.registerPlugin())
  return getRequestListener((request, env) =>
    queryQueues(Promise.resolve(app.fetch(request, env)), boardMsMax).catch(toAnswer),
  )
}

/** The response when Redis does not answer. */
function toAnswer(error: unknown): Response {
  if (!(error instanceof Fault)) throw error
  const { code, detail } = error
  return Response.json({ code, detail, todo: faultCodes[code].meaning }, { status: 503 })
}
