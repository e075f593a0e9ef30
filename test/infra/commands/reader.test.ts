import { t } from 'tap'
import { createFolder } from '../../rig/folder.js'
import { ask } from '../clickhouse/running.js'
import { createHome, interrupt, startUntil, tieline } from '../command-line.js'

t.test('a reader that is added reads at once, and not after it is removed', async (t) => {
  const home = await createHome(createFolder(t))
  const run = (...args: readonly string[]) => tieline(...args, '--home', home)
  const up = await startUntil('Ctrl-C stops', 'up', '--home', home)
  t.teardown(() => void up.child.kill('SIGKILL'))
  const url = /^ClickHouse +(\S+)/m.exec(up.seen)?.[1] as string
  const added = await run('reader', 'add', 'ada')
  t.match(added, {
    code: 0,
    stdout: /^[0-9a-f]{48}\n$/,
    stderr: `the password of ada, shown only now, for ${url}`,
  })
  const as = { user: 'ada', password: added.stdout.trim() }
  const count = { method: 'POST', body: 'SELECT count() FROM tieline.usage', as }
  t.equal(await (await ask(url, count)).text(), '0\n')
  const auditor = await run('reader', 'add', 'cleo', '--audit')
  const log = {
    method: 'POST',
    body: "SELECT detail, subject FROM tieline.audit_log WHERE act = 'reader' ORDER BY number",
    as: { user: 'cleo', password: auditor.stdout.trim() },
  }
  t.equal(await (await ask(url, log)).text(), 'add\tada\nadd with audit\tcleo\n')
  const list = await run('reader', 'list')
  t.match(list.stdout, /^ada +no .*\ncleo +yes /m)
  t.match(await run('reader', 'remove', 'ada'), { code: 0, stdout: 'ada can no longer log in\n' })
  t.equal((await ask(url, count)).status, 403)
  for (const wrong of [['add'], ['list', 'ada'], ['drop', 'ada'], ['remove', 'ada', '--audit']]) {
    t.match(await run('reader', ...wrong), {
      code: 1,
      stderr: /^tieline: CONFIG: use reader add NAME/,
    })
  }
  const refused = [
    [['remove', 'ada'], /the reader ada does not exist/],
    [['add', 'cleo'], /the reader cleo exists/],
    [['add', 'Cleo'], /a reader cannot have the name Cleo/],
  ] as const
  for (const [words, stderr] of refused) {
    t.match(await run('reader', ...words), { code: 1, stderr })
  }
  t.equal(
    await (await ask(url, log)).text(),
    'add\tada\nadd with audit\tcleo\nremove\tada\n',
    'what is refused is not an act',
  )
  t.equal(await interrupt(up.child), 0)
})
