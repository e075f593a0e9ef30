import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { createRaw } from './raw.js'
import type { Served } from './served.js'

const head = (...fields: readonly string[]) =>
  ['POST /now HTTP/1.1', 'Host: gateway', ...fields, '', ''].join('\r\n')
const isGood = (answers: readonly string[]) => answers[0]?.startsWith('HTTP/1.1 200 ') === true

interface Flooded {
  readonly serve: () => Promise<Served>
  readonly connectionsMax: number
  /** What the log would have of refused requests. */
  readonly refused: string[]
}

/** Many clients that cost much and send little. */
export function resistFloods(t: Test, { serve, connectionsMax, refused }: Flooded): void {
  t.test(
    'a body in thousands of tiny chunks ends its connection, and is read no further',
    async (t) => {
      const { listener, tls } = await serve()
      const open = () => createRaw({ port: listener.port, tls })
      const chunked = (count: number) =>
        `${head('Transfer-Encoding: chunked')}${'1\r\nx\r\n'.repeat(count)}0\r\n\r\n`
      const few = await open()
      few.send(chunked(200))
      t.ok(isGood(await few.answers()))
      refused.length = 0
      const flood = await Promise.all(Array.from({ length: 30 }, open))
      for (const client of flood) client.send(chunked(16_384))
      for (const client of flood) t.same(await client.answers(), [])
      t.equal(refused.length, flood.length)
      t.ok(refused.every((line) => line.startsWith('400 ')))
      const slow = await open()
      slow.send(head('Content-Length: 100'))
      for (let byte = 0; byte < 100; byte++) {
        slow.send('x')
        await sleep(1)
      }
      t.ok(isGood(await slow.answers()), 'byte by byte')
      slow.destroy()
    },
  )

  t.test('connections above the limit are closed, and the others served', async (t) => {
    const { listener, tls } = await serve()
    const open = () => createRaw({ port: listener.port, tls }).catch(() => undefined)
    const request = head('Content-Length: 0')
    // Each asks as soon as it is connected: handshakes of many may take longer than one may be idle.
    const asking = Array.from({ length: connectionsMax + 20 }, async () => {
      const client = await open()
      client?.send(request)
      return client
    })
    const clients = await Promise.all(asking)
    const answers = await Promise.all(clients.map((client) => client?.answers() ?? []))
    t.equal(answers.filter(isGood).length, connectionsMax)
    for (const client of clients) client?.destroy()
    let isServed = false
    // A busy machine takes its time to close that many.
    for (let tries = 0; tries < 100 && !isServed; tries++) {
      await sleep(100)
      const next = await open()
      next?.send(request)
      isServed = isGood((await next?.answers()) ?? [])
      next?.destroy()
    }
    t.ok(isServed, 'a place is free again')
  })
}
