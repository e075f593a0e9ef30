import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { isUnit, needsProcess, waits } from './files.js'
import { sample } from './sample.js'

const timeoutSeconds = sample({ short: 900, long: 7200 })
const guard = fileURLToPath(new URL('no-processes.js', import.meta.url))
const unitProcess = fileURLToPath(new URL('unit-process.js', import.meta.url))

/**
 * Runs test files and writes the TAP of all of them: unit tests in a few processes, others in
 * processes of their own. `tap`'s own command loads hooks into each process, which costs more than
 * most files; compiled files need none.
 */
t.setTimeout(0)
const files = process.argv.slice(2)
const waiting = files.filter(waits)
// More at once take more processor time for the same work, and end no sooner; those that wait take none.
const cores = availableParallelism()
t.jobs = cores + waiting.length
for (const file of waiting) void run(file, [file]).then(() => t.jobs--)
const together = files.filter((file) => isUnit(file) && !needsProcess(file))
for (const file of files.filter((one) => !together.includes(one) && !waiting.includes(one))) {
  run(file, [...(isUnit(file) ? [`--import=${guard}`] : []), file])
}
for (let at = 0; at < cores; at++) {
  const group = together.filter((_, index) => index % cores === at)
  const name = `unit-${at + 1}`
  if (group.length > 0) run(name, [`--import=${guard}`, unitProcess, name, ...group])
}

/**
 * `env` undoes what `t.spawn` adds to NODE_OPTIONS: hooks that count what is covered, in the test and in every
 * program that it starts.
 */
function run(name: string, args: readonly string[]): PromiseLike<unknown> {
  const own = `NODE_OPTIONS=${process.env['NODE_OPTIONS'] ?? ''}`
  return t.spawn('env', [own, process.execPath, '--enable-source-maps', ...args], {
    name,
    buffered: true,
    timeout: timeoutSeconds * 1_000,
    env: { ...process.env, TAP_TIMEOUT: String(timeoutSeconds) },
  })
}
