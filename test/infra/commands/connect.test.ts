import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { t } from 'tap'
import { usageFile } from '../../../infra/demo/usage-file.js'
import { packageRoot } from '../../../infra/package-root.js'
import { createFolder } from '../../rig/folder.js'
import { createHome, interrupt, oneDay, startUntil, tieline } from '../command-line.js'

const cwd = packageRoot(import.meta.url)
const home = await createHome(createFolder(t))
const execute = promisify(execFile)

/** The first block of a section of what the command prints. */
function blockOf(page: string, title: string): string {
  const section = page.split(`## ${title}`)[1] ?? ''
  return /```\w*\n(.*?)\n```/s.exec(section)?.[1] ?? ''
}

t.test('without a data folder the command names the remedy', async (t) => {
  const nowhere = join(createFolder(t), 'none')
  const run = await tieline('connect', '--home', nowhere)
  t.match(run, { code: 1, stderr: /none holds no data of Tieline; name the data folder/ })
})

t.test('each block reads the data as it is pasted, and none contains the password', async (t) => {
  const up = await startUntil('Ctrl-C stops', 'up', '--home', home)
  t.teardown(() => void up.child.kill('SIGKILL'))
  const file = join(createFolder(t), 'DEMO_01072025_Electric.csv')
  await usageFile(file, oneDay)
  await tieline('load', file, '--home', home)
  const { code, stdout, stderr } = await tieline('connect', '--home', home)
  t.match({ code, stderr }, { code: 0, stderr: '' })
  const { reader } = JSON.parse(readFileSync(join(home, 'secrets.json'), 'utf8'))
  t.notMatch(stdout, reader)
  const url = /^ClickHouse +(\S+)/m.exec(up.seen)?.[1] as string
  t.match(stdout, `URL: \`${url}\``)

  const exported = blockOf(stdout, 'Address and reader')
  const shell = (script: string) => execute('bash', ['-euc', `${exported}\n${script}`], { cwd })
  t.equal((await shell('printf %s "$TIELINE_PASSWORD"')).stdout, reader)

  const byCurl = await shell(blockOf(stdout, 'curl'))
  t.match(byCurl.stdout, /^"meter_id","commodity","starts_at"/)
  t.equal(byCurl.stdout.trim().split('\n').length, 6)
  const program = blockOf(stdout, 'JavaScript')
  const byClient = await shell(`node --input-type=module <<'END'\n${program}\nEND`)
  t.equal(byClient.stdout.match(/meter_id: '/g)?.length, 5)
  const address = blockOf(stdout, 'Excel')
  const byAddress = await shell(`curl -sS --user reader:"$TIELINE_PASSWORD" '${address}'`)
  t.equal(byAddress.stdout, byCurl.stdout)
  t.equal(await interrupt(up.child), 0)
})

t.test('on a server of its own the command names the setting with the password', async (t) => {
  const env = {
    ...process.env,
    CLICKHOUSE_URL: 'http://w:secret-one@127.0.0.1:9',
    CLICKHOUSE_READER_URL: 'http://ada:secret-two@127.0.0.1:9',
  }
  const program = join(cwd, 'dist', 'infra', 'main.js')
  const { stdout } = await execute(process.execPath, [program, 'connect', '--home', home], { env })
  t.match(stdout, 'Password: in `CLICKHOUSE_READER_URL`')
  t.notMatch(stdout, /secret-/)
})
