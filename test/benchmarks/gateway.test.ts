import t from 'tap'
import { measureMinutes } from '../../benchmarks/gateway/minutes.js'
import { measureMutual } from '../../benchmarks/gateway/mutual.js'
import { measureReads } from '../../benchmarks/gateway/reads.js'
import { ensureProgram } from '../rig/debian.js'
import { oneOfEach } from '../rig/sample.js'

const print = () => undefined
const test = oneOfEach(3, t)

test('days of a few customers are read, all answered one by one', async (t) => {
  const few = { customers: 200, months: 2, turns: 3, seconds: 1 }
  const { gateway, engine, filesLoaded } = await measureReads({ ...few, print })
  t.match([gateway.failed, engine.failed], [0, 0])
  t.ok(filesLoaded > 0)
})

test('login, customer and bind are measured with a client certificate', async (t) => {
  const { contests } = await measureMutual({ tokens: 10, seconds: 1, connections: 2, print })
  t.equal(contests['mutual login full']?.resumed, 0)
  t.ok((contests['mutual bind kept']?.calls ?? 0) > 0)
})

test('each minute of logins is measured', async (t) => {
  ensureProgram('/usr/bin/wrk', 'wrk')
  const short = { minutes: 3, secondsEach: 1, tokens: 10, connections: 2 }
  const { minutes } = await measureMinutes({ ...short, print })
  t.equal(minutes.length, 3)
})
