import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { numberedMeters } from '../../../infra/demo/customers.js'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { createFolder } from '../../rig/folder.js'
import { header } from '../../story/rig/stack.js'
import { createHome, tieline } from '../command-line.js'

const oneDay = {
  meters: numberedMeters(10),
  seed: 3,
  firstDay: '2025-07-01',
  days: 1,
  intervalSeconds: 900,
  zone: 'America/Detroit',
}

t.test('a command starts what it needs for the time it takes', async (t) => {
  const folder = t.testdir({
    'DEMO_02072025_Electric_2.csv': 'Not,The,Header\n1,2,3\n',
    'OTHER_02072025_Gas.csv': `${header}\nA,S,M,7/1/2025,few\nA,S,M,7/1/2025,1`,
  })
  const home = await createHome(folder)
  const good = join(folder, 'DEMO_02072025_Electric.csv')
  const foreign = join(folder, 'DEMO_02072025_Electric_2.csv')
  const poor = join(folder, 'OTHER_02072025_Gas.csv')
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

  const noted = await tieline('load', poor, '--home', home)
  t.match(noted.stdout, /OTHER_02072025_Gas\.csv: OTHER is not in companyCodes/, 'its notes')
  t.match(noted.stdout, /OTHER_02072025_Gas\.csv: the last row has no line end/)
  const [, receipt = ''] = /^receipt {2}(.*)$/m.exec(noted.stdout) ?? []
  t.match(JSON.parse(readFileSync(receipt, 'utf8')), { status: 'published', rows: { rejected: 1 } })
  const [, rejects = ''] = /^rejects {2}(.*)$/m.exec(noted.stdout) ?? []
  t.match(readFileSync(rejects, 'utf8'), /NOT_A_NUMBER/)

  const counted = await tieline(
    'sql',
    'SELECT count() FROM usage;',
    '--format',
    'TSV',
    '--home',
    home,
  )
  t.match(counted, { code: 0, stdout: '961\n' })
})

t.test('two loads at once take turns', async (t) => {
  const folder = createFolder(t)
  const files = [join(folder, 'DEMO_02072025_Electric.csv'), join(folder, 'DEMO_03072025_Gas.csv')]
  await usageFile(files[0] as string, oneDay)
  await usageFile(files[1] as string, { ...oneDay, intervalSeconds: 86_400, shape: 'gas' })
  const home = await createHome(folder)
  const runs = await Promise.all(files.map((file) => tieline('load', file, '--home', home)))
  for (const run of runs) t.match(run, { code: 0, stdout: /published/ }, run.stderr)
  t.equal(runs.filter((run) => run.stderr.includes('waiting')).length, 1)
})
