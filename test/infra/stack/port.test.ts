import { once } from 'node:events'
import { createServer } from 'node:net'
import { t } from 'tap'
import { isPortFree, onFreePort } from '../../../infra/stack/port.js'
import { Fault } from '../../../schemas/fault.js'

t.test('takes the next port if the wanted one is taken, before or during the start', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => other.close())
  const { port } = other.address() as { port: number }
  t.notOk(await isPortFree(port))
  const tried: number[] = []
  const got = await onFreePort(port, async (candidate) => {
    tried.push(candidate)
    if (tried.length === 1) throw new Fault('PORT_TAKEN', 'just now')
    return candidate
  })
  t.equal(got, tried[1])
  t.ok((tried[0] as number) > port)
})

t.test('a start that fails for another reason is not tried again', async (t) => {
  let starts = 0
  const start = async () => {
    starts++
    throw new Fault('CONFIG', 'no')
  }
  await t.rejects(onFreePort(20_000, start), { code: 'CONFIG' })
  t.equal(starts, 1)
})
