import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { createFolder } from '../../rig/folder.js'
import { header } from '../../story/rig/stack.js'
import { createHome, oneDay, tieline } from '../command-line.js'

t.test('a command starts what it needs for the time it takes', async (t) => {
  const folder = t.testdir({
    'DEMO_02072025_Electric_2.csv': 'Not,The,Header\n1,2,3\n',
    'OTHER_02072025_Gas.csv': `${header}\nA,S,M,7/1/2025,few\nA,S,M,7/1/2025,"1"`,
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

  const all = await tieline('load', good, foreign, poor, '--home', home)
  t.equal(all.code, 2, 'one of them is quarantined')
  t.match(all.stdout, /DEMO_02072025_Electric\.csv +duplicate/)
  t.match(all.stdout, /DEMO_02072025_Electric_2\.csv +quarantined/)
  t.match(all.stdout, /HEADER/)
  t.match(all.stdout, /OTHER_02072025_Gas\.csv: OTHER is not in companyCodes/, 'its notes')
  t.match(all.stdout, /OTHER_02072025_Gas\.csv: the last row has no line end/)
  t.match(all.stdout, /OTHER_02072025_Gas\.csv: published without 1 of 2 rows/)
  const paths = (kind: string) =>
    [...all.stdout.matchAll(new RegExp(`^${kind} {2}(.*)$`, 'gm'))].map(([, path = '']) => path)
  const receipts = paths('receipt').map((path) => JSON.parse(readFileSync(path, 'utf8')))
  t.match(receipts.at(-1), { status: 'published', rows: { rejected: 1 } })
  t.match(readFileSync(paths('rejects').at(-1) ?? '', 'utf8'), /NOT_A_NUMBER/)

  const query = 'SELECT count() FROM usage;'
  const counted = await tieline('sql', query, '--format', 'TSV', '--home', home)
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
