import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Test } from 'tap'
import { z } from 'zod'

const valueSchema = z.union([
  z.object({ stringValue: z.string() }).transform(({ stringValue }) => stringValue),
  z.object({ intValue: z.coerce.number() }).transform(({ intValue }) => intValue),
])
const spanSchema = z.object({
  traceId: z.string(),
  spanId: z.string(),
  parentSpanId: z.string().optional(),
  name: z.string(),
  attributes: z
    .array(z.object({ key: z.string(), value: valueSchema }))
    .transform((all) => Object.fromEntries(all.map(({ key, value }) => [key, value]))),
})
const bodySchema = z.object({
  resourceSpans: z.array(
    z.object({ scopeSpans: z.array(z.object({ spans: z.array(spanSchema) })) }),
  ),
})

export type SentSpan = z.infer<typeof spanSchema>

/** What takes traces in, as OTLP's JSON over HTTP. */
export interface Receiver {
  readonly url: string
  /** How requests are answered from now on, and those that wait; 0 lets them wait. */
  answer(status: number): void
  /** Requests that came in. */
  requests(): number
  /** All that was sent, as it came, but for times: their digits are like any account's. */
  text(): string
  spans(): readonly SentSpan[]
  close(): Promise<void>
}

/** Parts that are started from here send what they have every 100 ms and soon give up. */
export async function createReceiver(t: Test): Promise<Receiver> {
  Object.assign(process.env, {
    OTEL_BSP_SCHEDULE_DELAY: '100',
    OTEL_EXPORTER_OTLP_TIMEOUT: '2000',
  })
  const bodies: string[] = []
  const held = new Set<ServerResponse>()
  let status = 200
  const reply = (response: ServerResponse) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end('{}')
  const server = createServer(async (request, response) => {
    bodies.push((await buffer(request)).toString('utf8'))
    response.on('close', () => held.delete(response))
    if (status === 0) held.add(response)
    else reply(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  t.teardown(close)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    answer: (next) => {
      status = next
      if (next !== 0) for (const response of held) reply(response)
    },
    requests: () => bodies.length,
    text: () => bodies.join('\n').replace(/UnixNano":"\d+"/g, 'UnixNano"'),
    spans: () =>
      bodies
        .flatMap((body) => bodySchema.parse(JSON.parse(body)).resourceSpans)
        .flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    close,
  }
}
