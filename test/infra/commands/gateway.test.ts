import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { t } from 'tap'
import { isPassword } from '../../../api/access/password.js'
import { packageRoot } from '../../../infra/package-root.js'
import { tieline } from '../command-line.js'

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
