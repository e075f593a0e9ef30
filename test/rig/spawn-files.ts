import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { isUnit } from './files.js'

const timeoutSeconds = 900
const guard = fileURLToPath(new URL('no-processes.js', import.meta.url))

/**
 * Runs test files in processes of their own and writes the TAP of all of them. `tap`'s own command
 * loads hooks into each process, which costs more than most files; compiled files need none.
 */
t.setTimeout(0)
t.jobs = availableParallelism() + 1
for (const file of process.argv.slice(2)) {
  const guarded = isUnit(file) ? [`--import=${guard}`] : []
  t.spawn(process.execPath, ['--enable-source-maps', ...guarded, file], {
    name: file,
    buffered: true,
    timeout: timeoutSeconds * 1_000,
    env: { ...process.env, TAP_TIMEOUT: String(timeoutSeconds) },
  })
}
