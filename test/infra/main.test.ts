import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { t } from 'tap'
import { createFolder } from '../rig/folder.js'
import { program, tieline } from './command-line.js'

t.test('each problem is reported at once on its own line, with exit code 1', async (t) => {
  const folder = t.testdir({
    'profile.yaml': 'companyCodes: []\ntimeZone: Mars/Base\nextra: 1\n',
  })
  const home = join(folder, 'data')
  const profile = join(folder, 'profile.yaml')
  const aLineEach = /^tieline: [A-Z_]+: [^\n]+\n( {2}[^\n]+\n)*$/
  const absent = await tieline('load', join(folder, 'absent.csv'), '--home', home)
  t.match(absent, { code: 1, stderr: aLineEach })
  t.match(absent.stderr, /absent\.csv/)
  const wrong = await tieline('up', '--home', home, '--profile', profile)
  t.match(wrong, { code: 1, stderr: aLineEach })
  for (const path of ['companyCodes', 'timeZone', 'extra']) t.match(wrong.stderr, path)
  const nowhere = await tieline('up', '--home', '/proc/none')
  t.match(nowhere, { code: 1, stderr: aLineEach })
  writeFileSync(join(folder, 'torn.yaml'), 'a: [1')
  const torn = await tieline('up', '--home', home, '--profile', join(folder, 'torn.yaml'))
  t.match(torn, { code: 1, stderr: aLineEach })
})

t.test('help describes each command', async (t) => {
  const help = await tieline('--help')
  t.equal(help.code, 0)
  for (const name of ['up', 'load', 'sql', 'status', 'doctor', 'demo']) {
    t.match(help.stdout, new RegExp(`^  ${name} `, 'm'))
    const own = await tieline(name, '--help')
    t.match(own, { code: 0, stdout: /--home <dir>[\s\S]*--profile <file>/ })
  }
  t.match(await tieline('--version'), { code: 0, stdout: /^\d+\.\d+\.\d+\n$/ })
  t.equal((await tieline('load')).code, 1)
  t.equal((await tieline('no-such-command')).code, 1)
})

t.test('a command about what is there creates no data folder for a mistyped name', async (t) => {
  const home = join(createFolder(t), 'dtaa')
  const reading = [['status'], ['sql', 'SELECT 1'], ['compare']]
  const changing = [
    ['unlock', '7'],
    ['unregister', '7'],
    ['pause', 'inbox'],
    ['resume', 'inbox'],
  ]
  for (const command of [...reading, ...changing]) {
    const run = await tieline(...command, '--home', home)
    t.match(run, { code: 1, stderr: `CONFIG: ${home} holds no data of Tieline` })
  }
  t.notOk(existsSync(home))
})

t.test('an empty variable counts as unset, and an empty option is refused', async (t) => {
  const cwd = realpathSync(createFolder(t))
  const env = { ...process.env, TIELINE_HOME: '', TIELINE_PROFILE: '' }
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [program, ...args], { cwd, env, encoding: 'utf8' })
  t.match(run('status').stderr, `CONFIG: ${cwd}/data holds no data of Tieline`)
  t.match(run('doctor').stdout, /✓ profile +.*demo\.yaml/)
  for (const option of ['--home', '--profile']) {
    t.match(run('status', option, ''), { status: 1, stderr: /name a folder or file/ })
  }
  t.same(readdirSync(cwd), [])
})

t.test('an outage is reported with what to do about it', (t) => {
  const env = { ...process.env, CLICKHOUSE_URL: 'http://writer:w@127.0.0.1:1/' }
  const args = [program, 'migrate', '--home', join(createFolder(t), 'data')]
  const { status, stderr } = spawnSync(process.execPath, args, { env, encoding: 'utf8' })
  t.equal(status, 1)
  t.match(stderr, /^tieline: STORE_UNREACHABLE: [^\n]+\n {2}[^\n]+Check that it is up/)
  t.end()
})
