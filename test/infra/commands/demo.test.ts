import { join } from 'node:path'
import { t } from 'tap'
import { tieline } from '../command-line.js'

t.test(
  'the demo loads its files, shows a first query and ends; again it finds its data',
  async (t) => {
    const home = join(t.testdir(), 'data')
    const first = await tieline('demo', '--once', '--home', home)
    t.equal(first.code, 0, first.stderr)
    for (const step of ['Redis', 'ClickHouse', 'migrations', 'worker', 'demo files']) {
      t.match(first.stdout, new RegExp(`✓ ${step} +[\\d.]+ s`))
    }
    t.match(first.stdout, /DEMO_09112025_Electric\.csv +published +168,200/)
    t.match(first.stdout, /DEMO_09112025_Gas\.csv +published +1,330 +1,330/)
    t.match(first.stdout, /2025-11-02 .* 100 │/, 'the day of 25 hours expects 100 intervals')
    const second = await tieline('demo', '--once', '--home', home)
    t.equal(second.code, 0, second.stderr)
    t.match(second.stdout, /from an earlier start/)
    t.match(second.stdout, /DEMO_09112025_Electric\.csv +published +168,200/)
  },
)
