import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { createRig, people, post } from './rig.js'

const clock = Date.now
t.teardown(() => {
  Date.now = clock
})

t.test('a clock that is set back an hour keeps no outage of the CIS', async (t) => {
  let setBackMs = 0
  Date.now = () => clock() - setBackMs
  const cis = { breakerFailures: 1, breakerSeconds: 1, statusSeconds: 0, timeoutMs: 1_000 }
  const rig = await createRig(t, { cis })
  await post(`${rig.cis.url}/faults`, { kind: 'down' })
  t.equal((await rig.ask('login', await rig.token(people.active))).status, 503)
  await post(`${rig.cis.url}/faults`, { kind: 'none' })
  setBackMs = 3_600_000
  await sleep(1_500)
  t.equal((await rig.ask('login', await rig.token(people.active))).status, 200)
})
