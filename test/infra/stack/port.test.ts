import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
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

const lowest = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))

t.test('a port that this user may not have is not one that is taken', async (t) => {
  const module = new URL('../../../infra/stack/port.js', import.meta.url).href
  const code = `import { onFreePort } from '${module}'
      await onFreePort(1, async () => undefined).catch(({ message }) => console.log(message))`
  const [command = '', ...args] = [
    ...(process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-net_bind_service'] : []),
    ...[process.execPath, '--input-type=module', '-e', code],
  ]
  const said = execFileSync(command, args, { encoding: 'utf8' })
  const mayHave = lowest <= 1
  t.match(said, mayHave ? /^$/ : /^LISTENER: cannot listen on 127\.0\.0\.1:1 \(EACCES\)/)
})
