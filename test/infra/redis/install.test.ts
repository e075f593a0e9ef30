import { spawnSync } from 'node:child_process'
import { t } from 'tap'
import { findProgram, findRedis } from '../../../infra/redis/install.js'

t.test('finds what the shell would run', async (t) => {
  t.match(await findProgram('sh'), /^\/.*\/sh$/)
  t.equal(await findProgram('no-such-program'), undefined)
  t.equal(await findProgram('; echo injected'), undefined)
  const command = await findRedis()
  t.match(command.at(-1), /redis-server$/)
})

t.test('without Redis and without the right to install it, one line says what to do', async (t) => {
  const module = new URL('../../../infra/redis/install.js', import.meta.url).href
  const code = `process.getuid = () => 1000
    const { ensureRedis } = await import(${JSON.stringify(module)})
    await ensureRedis({ forced: false, say: console.log }).catch((error) => console.log(error.message))`
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
    env: { PATH: '/nowhere' },
    encoding: 'utf8',
  })
  t.match(
    stdout,
    /^MISSING_PROGRAM: redis-server not found: run apt-get install redis-server as root, or set/,
  )
  t.equal(stdout.trim().split('\n').length, 1)
})
