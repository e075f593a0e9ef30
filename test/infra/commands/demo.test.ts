import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { t } from 'tap'
import { sampleFaults } from '../../../infra/demo/sample/bills.js'
import { createFolder } from '../../rig/folder.js'
import { sample } from '../../rig/sample.js'
import { interrupt, startUntil, tieline } from '../command-line.js'

const run = promisify(execFile)
const electric = /DEMO_01102026_Electric\.csv +published +1,480,440 +1,480,440 /
const gas = /DEMO_01112026_Gas\.csv +published +4,371 +4,371 /
const variance = /cost differs, computed minus billed 4\.54\n +rateVersion 4\.54\n/
const home = join(createFolder(t), 'data')
const profile = join(home, 'demo.yaml')
const killed = await startUntil('demo files', 'demo', '--home', home)
killed.child.kill('SIGKILL')
await once(killed.child, 'close')
const { child: demo, seen } = await startUntil('Ctrl-C', 'demo', '--home', home)

t.test('a demo that is killed while its files load is finished by the next start', async (t) => {
  for (const step of ['Redis', 'ClickHouse', 'migrations', 'worker', 'demo files']) {
    t.match(killed.seen, new RegExp(`✓ ${step} +[\\d.]+ s`))
  }
  t.notMatch(killed.seen, electric)
  t.match(seen, electric)
  t.match(seen, gas)
  t.match(seen, /✓ customers +[\d.]+ s {2}200 registered/)
  t.match(seen, /200 {"clientId":"7000000001"}/, 'one login')
  t.match(seen, /"externalSiteId":"5113000000"/, 'one customer')
  t.match(seen, /200 {"status":"success"/, 'one bind')
  t.match(seen, /2025-11-01 .* 5976 │ +5976 │/)
  t.match(seen, /2025-11-02 .* 6225 │ +6225 │/, 'the day of 25 hours has more reads')
  t.match(seen, variance, 'one bill that is wrong, and why')
  t.match(seen, /Operations page +http:\/\/127\.0\.0\.1:\d+\//)
})

t.test('what the demo prints can be pasted, and its profile serves every command', async (t) => {
  const lines = seen.slice(seen.indexOf('TOKEN=')).split('\n')
  const script = lines
    .filter((line) => /^(TOKEN=|curl | {2}(https|--key|-d|-H) ?)/.test(line))
    .join('\n')
  const { stdout } = await run('sh', ['-c', script])
  t.match(stdout, /^{"clientId":"7000000001"}{"clientId":"7000000001","firstName"/)
  t.match(stdout, /{"status":"success","message":"The hub is bound to the meter."}$/)

  const health = /health +(\S+)/.exec(seen)?.[1] ?? ''
  t.match(await (await fetch(health)).json(), { status: 'ready' })
  const customer = await tieline('probe', 'customer', '7000000001', '--profile', profile)
  t.match(customer, { code: 0, stdout: /✓ record +\d+ ms +OK: 1 sites, 2 meters/ })
  t.notMatch(customer.stdout, /Evans/, 'nothing of the person')
  const nobody = await tieline('probe', 'customer', '1', '--profile', profile)
  t.match(nobody, { code: 0, stdout: /OK: customer not found/ })
  t.match(await tieline('probe', 'login', '--profile', profile), { code: 0, stdout: /usable keys/ })
  const token = join(home, 'token')
  writeFileSync(token, 'a.b.c')
  const wrong = await tieline('probe', 'login', token, '--profile', profile)
  t.match(wrong, {
    code: 1,
    stdout: /✗ token +\d+ ms +CONFIG: the token is rejected: malformed token/,
  })
  const typed = await tieline('probe', 'login', 'a.b.c', '--profile', profile)
  t.match(typed, {
    code: 1,
    stdout: /✗ token .*CONFIG: the token cannot be read; run tieline probe login FILE/,
  })
  t.notMatch(typed.stdout, /a\.b\.c/)
  const bind = await tieline('probe', 'bind', 'SLID-5113000000', '--profile', profile)
  t.match(bind, { code: 0, stdout: /OK: meter 55000000[\s\S]*OK: AMI meter, a hub is bound/ })
  const unlocked = await tieline('unlock', '7000000001', '--home', home, '--profile', profile)
  t.match(unlocked, { code: 0, stdout: /is not locked here/ })

  const log = readFileSync(join(home, 'logs', 'requests.log'), 'utf8')
    .trim()
    .split('\n')
  t.ok(log.length >= 6)
  t.same(Object.keys(JSON.parse(log[0] ?? '{}')), [
    'time',
    'route',
    'status',
    'ms',
    'requestId',
    'pseudonym',
  ])
})

t.test(
  'the bills are those of the utility, except for the mistakes that were planted',
  async (t) => {
    const statement = `SELECT * FROM
      (SELECT arraySort(groupArrayIf((meter_id, cost_status), cost_status != 'match')) AS odd,
        count() AS bills FROM bill_variance) AS billed,
      (SELECT countIf(kind = 'move') > 0 AS moves, countIf(kind = 'shared') > 0 AS shared,
        (SELECT count() FROM usage_restatement) AS corrections FROM tenancy_event) AS held`
    const { stdout } = await tieline('sql', statement, '--format', 'JSONEachRow', '--home', home)
    const { odd, bills, ...others } = JSON.parse(stdout)
    const planted = sampleFaults().map(({ meter }) => [meter, 'differs'])
    t.same(odd, planted.sort())
    t.ok(Number(bills) > 40, `of ${bills} bills`)
    t.same(others, { moves: 1, shared: 1, corrections: 4 }, 'what else is in the sample')
  },
)

t.test('the demo ends on Ctrl-C, and again it finds its data', async (t) => {
  t.equal(await interrupt(demo), 0)
  t.notOk(existsSync(join(home, 'run.json')))
  // A start that finds files is tried above.
  if (sample({ short: true, long: false })) return
  const second = await tieline('demo', '--once', '--home', home)
  t.equal(second.code, 0, second.stderr)
  t.match(second.stdout, /from an earlier start/)
  t.match(second.stdout, electric)
})
