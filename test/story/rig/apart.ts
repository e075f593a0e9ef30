import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

/** Root is given every right; without these two capabilities it has an ordinary user's. */
const asOrdinary = ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-all']
const mark = 'TIELINE_TEST_APART'

/** Whether this process is the one that `runApart` started. */
export function isApart(): boolean {
  return process.env[mark] === '1'
}

/**
 * Runs a test file once more with an ordinary user's rights and in a clean environment, without what
 * the test runner hooks into its processes, such as its own treatment of signals; passes its results on.
 */
export function runApart(t: Test, url: string): void {
  const rights = process.getuid?.() === 0 ? asOrdinary : []
  const environment = [`PATH=${process.env['PATH']}`, 'HOME=/nonexistent', `${mark}=1`]
  const node = [process.execPath, fileURLToPath(url)]
  const [command = '', ...words] = [...rights, 'env', '-i', ...environment, ...node]
  const child = spawnSync(command, words, {
    cwd: '/',
    encoding: 'utf8',
    timeout: 200_000,
  })
  for (const line of child.stdout.split('\n')) {
    const said = /^ {0,4}(not )?ok \d+ - (.*)/.exec(line)
    if (said !== null) t.ok(said[1] === undefined, said[2] ?? '')
  }
  t.equal(child.status, 0, 'it ends well')
  if (child.status !== 0) t.comment(`${child.stdout}\n${child.stderr}`)
}
