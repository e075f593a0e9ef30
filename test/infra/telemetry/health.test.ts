import { t } from 'tap'
import { createHealth } from '../../../infra/telemetry/health.js'

const options = {
  port: 0,
  setting: 'gateway.operations',
  ready: async () => undefined,
  metrics: { type: 'text/plain', text: async () => '' },
}

t.test('an IPv6 host is written in brackets', async (t) => {
  const { address, close } = await createHealth({ ...options, host: '::1' })
  t.teardown(close)
  t.match(address, /^http:\/\/\[::1\]:\d+$/)
  t.equal((await fetch(`${address}/health/live`)).status, 200)
})

t.test('a host that is not of this machine is not a port that is taken', async (t) => {
  await t.rejects(createHealth({ ...options, host: '192.0.2.1', port: 9_465 }), {
    code: 'LISTENER',
    detail: 'gateway.operations: cannot listen on 192.0.2.1:9465 (EADDRNOTAVAIL)',
  })
})
