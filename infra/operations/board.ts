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
import { askQueues } from './panels/ask.js'

const path = '/queues'
/** It would wait for Redis as long as that is away; a page of many jobs takes it a moment. */
const boardMsMax = 4_000

/**
 * Bull Board, to look at only: what is done to a job there would stand in no audit log. Of the data of
 * jobs it shows ids alone, for those of registrations name customers.
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
  // Its first page has no slash at its end.
  const app = new Hono({ strict: false }).route(path, serverAdapter.registerPlugin())
  return getRequestListener((request, env) =>
    askQueues(Promise.resolve(app.fetch(request, env)), boardMsMax).catch(toAnswer),
  )
}

/** What the page answers where Redis does not. */
function toAnswer(error: unknown): Response {
  if (!(error instanceof Fault)) throw error
  const { code, detail } = error
  return Response.json({ code, detail, todo: faultCodes[code].meaning }, { status: 503 })
}
