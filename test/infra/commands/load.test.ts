import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { numberedMeters } from '../../../infra/demo/customers.js'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { createFolder } from '../../folder.js'
import { tieline } from '../command-line.js'

const oneDay = {
  meters: numberedMeters(10),
  seed: 3,
  firstDay: '2025-07-01',
  days: 1,
  intervalSeconds: 900,
  zone: 'America/Detroit',
}

t.test('a command starts what it needs for the time it takes', async (t) => {
  const folder = t.testdir({ 'DEMO_02072025_Electric_2.csv': 'Not,The,Header\n1,2,3\n' })
  const home = join(folder, 'data')
  const good = join(folder, 'DEMO_02072025_Electric.csv')
  const foreign = join(folder, 'DEMO_02072025_Electric_2.csv')
  await usageFile(good, oneDay)

  const loaded = await tieline('load', good, '--home', home, '--json')
  t.equal(loaded.code, 0, loaded.stderr)
  t.match(JSON.parse(loaded.stdout), [{ status: 'published', rows: { read: 960, accepted: 960 } }])
  t.notOk(existsSync(join(home, 'run.json')), 'and stops it again')

  const both = await tieline('load', good, foreign, '--home', home)
  t.equal(both.code, 2, 'one of them is quarantined')
  t.match(both.stdout, /DEMO_02072025_Electric\.csv +duplicate/)
  t.match(both.stdout, /DEMO_02072025_Electric_2\.csv +quarantined/)
  t.match(both.stdout, /HEADER/)

  const counted = await tieline(
    'sql',
    'SELECT count() FROM usage;',
    '--format',
    'TSV',
    '--home',
    home,
  )
  t.match(counted, { code: 0, stdout: '960\n' })
})

t.test('two loads at once take turns', async (t) => {
  const folder = createFolder(t)
  const files = [join(folder, 'DEMO_02072025_Electric.csv'), join(folder, 'DEMO_03072025_Gas.csv')]
  await usageFile(files[0] as string, oneDay)
  await usageFile(files[1] as string, { ...oneDay, intervalSeconds: 86_400, shape: 'gas' })
  const home = join(folder, 'data')
  const runs = await Promise.all(files.map((file) => tieline('load', file, '--home', home)))
  for (const run of runs) t.match(run, { code: 0, stdout: /published/ }, run.stderr)
  t.equal(runs.filter((run) => run.stderr.includes('waiting')).length, 1)
})
