import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { t } from 'tap'
import { isPassword } from '../../../api/access/password.js'
import { packageRoot } from '../../../infra/package-root.js'
import { createFolder } from '../../rig/folder.js'
import { startTieline, tieline } from '../command-line.js'

const run = promisify(execFile)

t.test('what the demo prints can be pasted, and its profile serves every command', async (t) => {
  const home = join(createFolder(t), 'data')
  const demo = startTieline('demo', '--home', home)
  let seen = ''
  demo.stdout?.setEncoding('utf8').on('data', (text: string) => {
    seen += text
  })
  while (!seen.includes('Ctrl-C')) await once(demo.stdout as NodeJS.ReadableStream, 'data')
  const lines = seen.slice(seen.indexOf('TOKEN=')).split('\n')
  const script = lines
    .filter((line) => /^(TOKEN=|curl | {2}(https|--key|-d|-H) ?)/.test(line))
    .join('\n')
  const { stdout } = await run('sh', ['-c', script])
  t.match(stdout, /^{"clientId":"7000000001"}{"clientId":"7000000001","firstName"/)
  t.match(stdout, /{"status":"success","message":"The hub is bound to the meter."}$/)

  const profile = join(home, 'demo.yaml')
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
  demo.kill('SIGINT')
  const [code] = await once(demo, 'exit')
  t.equal(code, 0)
  t.notOk(existsSync(join(home, 'run.json')))
})

t.test('a password from standard input becomes the line of a profile', async (t) => {
  const main = join(packageRoot(import.meta.url), 'dist', 'infra', 'main.js')
  const child = spawn(process.execPath, [main, 'password'], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end('open sesame\n')
  let text = ''
  for await (const piece of child.stdout) text += piece
  t.ok(await isPassword('open sesame', text.trim()))
  t.notOk(await isPassword('open sesam', text.trim()))
})

t.test('a probe says what is wrong with the address, or with the profile', async (t) => {
  const folder = t.testdir({
    'away.yaml': [
      'companyCodes: [DEMO]',
      'timeZone: America/Detroit',
      'cis: { kind: rest, url: "http://127.0.0.1:1" }',
    ].join('\n'),
  })
  const profile = join(folder, 'away.yaml')
  const away = await tieline('probe', 'customer', '1', '--profile', profile)
  t.match(away, { code: 1, stdout: /✗ CIS +\d+ ms +CIS_UNREACHABLE: .*127.0.0.1:1 .*ECONNREFUSED/ })
  const none = await tieline('probe', 'bind', 'S', '--profile', profile)
  t.match(none, { code: 1, stderr: /PROFILE: ami: missing/ })
})
