import { t } from 'tap'
import { render } from '../../benchmarks/chaos/result.js'
import { chaos } from '../../benchmarks/chaos/run.js'

t.setTimeout(230_000)

const zeros =
  'rows lost 0, doubled 0, files partly visible 0, acknowledged files not in the store 0, unfinished files 0'

t.test('no kill of worker, ClickHouse or Redis loses, doubles or half-shows a row', async (t) => {
  const result = await chaos({ kills: 20, seed: 1, keeps: false, say: (line) => t.comment(line) })
  const lines = render(result)
  for (const line of lines) t.comment(line)
  t.equal(lines.at(-1), zeros)
  t.same(result.wrongs, [])
  t.equal(result.rowsAltered, 0, 'every quantity is the one that was sent')
  t.equal(result.filesUnbalanced, 0, 'the energy of every file is what was sent')
  t.equal(result.kills.worker + result.kills.clickhouse + result.kills.redis, 20)
  t.ok(result.flushes > 0, 'Redis was emptied')
  t.ok(result.files >= 8, `${result.files} files`)
  t.ok(result.looks > 20, `${result.looks} looks of readers`)
})
