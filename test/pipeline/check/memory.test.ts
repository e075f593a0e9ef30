import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import type { CheckAnswer } from '../../../benchmarks/check/check-process.js'
import { numberedMeters } from '../../../infra/demo/customers.js'
import { usageFile } from '../../../infra/demo/usage-file.js'

const program = fileURLToPath(
  new URL('../../../benchmarks/check/check-process.js', import.meta.url),
)
/** Of 1.9 million rows the keys alone are 77 MB, of which 3 MB stay in memory. */
const meters = 20_000
const recordsMax = 65_536
const mbMax = 300

t.test('memory does not grow with the rows of a file', async (t) => {
  const folder = t.testdir({ keys: {} })
  const path = join(folder, 'BENCH_05032026_Electric.csv')
  const { rows } = await usageFile(path, {
    meters: numberedMeters(meters),
    seed: 7,
    firstDay: '2026-03-04',
    days: 1,
    intervalSeconds: 900,
    zone: 'America/Detroit',
  })
  const child = fork(program, { execArgv: ['--max-old-space-size=256'] })
  child.send({ what: 'check', path, folder: join(folder, 'keys'), recordsMax })
  const [answer] = (await once(child, 'message')) as [CheckAnswer]
  t.equal(answer.rows, rows, 'every row is accepted')
  t.ok(answer.peakMb < mbMax, `${answer.peakMb} MB`)
  t.same(readdirSync(join(folder, 'keys')), [], 'no key stays behind')
})
