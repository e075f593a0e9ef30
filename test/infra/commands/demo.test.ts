import { once } from 'node:events'
import { join } from 'node:path'
import { t } from 'tap'
import { createFolder } from '../../rig/folder.js'
import { startTieline, tieline } from '../command-line.js'

t.test(
  'the demo loads its files, shows a first query and ends; again it finds its data',
  async (t) => {
    const home = join(createFolder(t), 'data')
    const first = await tieline('demo', '--once', '--home', home)
    t.equal(first.code, 0, first.stderr)
    for (const step of ['Redis', 'ClickHouse', 'migrations', 'worker', 'demo files']) {
      t.match(first.stdout, new RegExp(`✓ ${step} +[\\d.]+ s`))
    }
    t.match(first.stdout, /DEMO_09112025_Electric\.csv +published +168,200/)
    t.match(first.stdout, /DEMO_09112025_Gas\.csv +published +1,330 +1,330/)
    t.match(first.stdout, /200 {"clientId":"7000000001"}/, 'one login')
    t.match(first.stdout, /"externalSiteId":"5113000000"/, 'one customer')
    t.match(first.stdout, /200 {"status":"success"/, 'one bind')
    t.match(first.stdout, /2025-11-02 .* 100 │/, 'the day of 25 hours expects 100 intervals')
    const second = await tieline('demo', '--once', '--home', home)
    t.equal(second.code, 0, second.stderr)
    t.match(second.stdout, /from an earlier start/)
    t.match(second.stdout, /DEMO_09112025_Electric\.csv +published +168,200/)
  },
)

t.test('a demo that was killed in the middle is finished by the next', async (t) => {
  const home = join(createFolder(t), 'data')
  const killed = startTieline('demo', '--home', home)
  let seen = ''
  killed.stdout?.setEncoding('utf8').on('data', (text: string) => {
    seen += text
  })
  while (!seen.includes('demo files')) await once(killed.stdout as NodeJS.ReadableStream, 'data')
  killed.kill('SIGKILL')
  await once(killed, 'close')
  const next = await tieline('demo', '--once', '--home', home)
  t.equal(next.code, 0, next.stderr)
  t.match(next.stdout, /DEMO_09112025_Electric\.csv +published +168,200/)
  t.match(next.stdout, /DEMO_09112025_Gas\.csv +published +1,330/)
})
