import { t } from 'tap'
import { renderSchedules, runSchedules } from '../../../benchmarks/cluster/run.js'
import { sample } from '../../rig/sample.js'

t.setTimeout(7_200_000)

/** Some twenty seconds of a core each. */
const schedules = sample({ short: 1, long: 200 })
const seed = Date.now() & 0x7fffffff

t.test('random schedules over two replicas show nothing that must never happen', async (t) => {
  const result = await runSchedules({
    ...{ seed, from: 0, to: schedules - 1 },
    say: (line) => t.comment(line),
  })
  for (const line of renderSchedules(result)) t.comment(line)
  t.same(result.first, {})
  t.equal(result.schedules, schedules)
  t.ok(result.statements > 100 * schedules, `${result.statements} statements`)
})
