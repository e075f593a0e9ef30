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
  const answer = async (...[request, env]: Parameters<typeof app.fetch>) =>
    withRelativeBase(await app.fetch(request, env), new URL(request.url).pathname)
  return getRequestListener((request, env) =>
    queryQueues(answer(request, env), boardMsMax).catch(toAnswer),
  )
}

/**
 * Makes the base of a page of the board relative to its own path: a proxy may serve it below another.
 * `board.js` then makes it absolute in the browser.
 */
async function withRelativeBase(answer: Response, pathname: string): Promise<Response> {
  if (!answer.headers.get('Content-Type')?.startsWith('text/html')) return answer
  const base = `${'../'.repeat(pathname.split('/').length - 2)}${path.slice(1)}/`
  const relative = `<base href="${base}" /><script type="module" src="../board.js"></script>`
  const text = (await answer.text()).replace(`<base href="${path}/" />`, relative)
  return new Response(text, { status: answer.status, headers: answer.headers })
}

/** The response when Redis does not answer. */
function toAnswer(error: unknown): Response {
  if (!(error instanceof Fault)) throw error
  const { code, detail } = error
  return Response.json({ code, detail, todo: faultCodes[code].meaning }, { status: 503 })
}
