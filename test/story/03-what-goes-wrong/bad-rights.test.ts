/**
 * # 3.5 Missing rights
 *
 * What: Files and folders that may not be read or written, and a full disk.
 * Why: Such faults pass when somebody fixes them. Until then the file waits and its status says
 * why.
 * Try: Run `chmod 0` on a file in the inbox, look at `tieline status`, then give the right back.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { isApart, runApart } from '../rig/apart.js'
import { header, openStory, until } from '../rig/stack.js'

const textOf = (meter: string) => `${header}\nA,S,${meter},3/4/2024,1\n`

async function runHere(): Promise<void> {
  t.setTimeout(180_000)
  const story = await openStory(t)
  const { home } = story

  /** What the log says of a path, and what to do about it. */
  const isTold = (path: string) =>
    story
      .logs()
      .split('\n')
      .some(
        (line) =>
          line.includes('"code":"PERMISSION"') &&
          line.includes(`${path}`) &&
          line.includes('access denied; grant this user access'),
      )

  t.test('a file that may not be read waits, says so, and loads when it may', async (t) => {
    const name = 'DEMO_05032024_Gas.csv'
    await story.send(name, textOf('P-1'))
    chmodSync(join(home.inbox, name), 0o000)
    await until(() => isTold(join(home.inbox, name)))
    chmodSync(join(home.inbox, name), 0o600)
    t.match(await story.receiptOf(name), { status: 'published', rows: { accepted: 1 } })
  })

  for (const [index, folder] of (['inbox', 'landing', 'outbox', 'archive'] as const).entries()) {
    t.test(`a file waits for the right to the ${folder}, and loads when it is given`, async (t) => {
      const name = `DEMO_0${6 + index}032024_Gas.csv`
      await writeFile(join(home.inbox, name), textOf(`P-${folder}`))
      chmodSync(home[folder], 0o000)
      await until(() => isTold(home[folder]))
      chmodSync(home[folder], 0o700)
      t.match(await story.receiptOf(name), { status: 'published', rows: { accepted: 1 } })
      await until(() => !existsSync(join(home.inbox, name)))
    })
  }

  t.test('a file waits and says so while the disk is full, then loads', async (t) => {
    const pid = String(story.stack.worker.pid())
    const rows = Array.from({ length: 40_000 }, (_, index) => `A,S,F-${index},3/4/2024,1`)
    execFileSync('prlimit', ['--pid', pid, '--fsize=600000:'])
    await story.send('DEMO_12032024_Gas.csv', `${header}\n${rows.join('\n')}\n`)
    await until(() => /"code":"DISK_FULL","msg":"[^"]*no space left; free some/.test(story.logs()))
    const state = await story.store.rows({
      sql: `SELECT status FROM file_arrival WHERE file_name = 'DEMO_12032024_Gas.csv'`,
    })
    t.same(state, [{ status: 'arrived' }], 'nothing is decided')
    execFileSync('prlimit', ['--pid', pid, '--fsize=unlimited:'])
    t.match(await story.receiptOf('DEMO_12032024_Gas.csv'), {
      status: 'published',
      rows: { read: 40_000, accepted: 40_000 },
    })
    t.equal(story.stack.worker.pid(), Number(pid), 'the worker lived through it')
  })
}

if (isApart()) await runHere()
else t.test('as an ordinary user', async (t) => runApart(t, import.meta.url))
