import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Test, t } from 'tap'
import { openHome } from '../../../../infra/stack/home.js'
import { demoProfilePath } from '../../../../infra/stack/profile-file.js'
import { createFolder } from '../../../rig/folder.js'
import { header } from '../../../story/rig/stack.js'
import { createHome, program } from '../../command-line.js'

const pipeBytes = 64 * 1024

/** Runs a command into a pipe whose reader begins late; what arrived, and the exit code. */
function slowly(...args: readonly string[]) {
  const codePath = join(folder, 'code')
  const script = '{ node "$@"; echo $? > "$0"; } | { sleep 3; cat; }'
  const { stdout, stderr } = spawnSync('sh', ['-c', script, codePath, program, ...args], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  return { text: stdout, stderr, code: Number(readFileSync(codePath, 'utf8')) }
}

const folder = createFolder(t)
const home = await createHome(folder)
openHome(home)
/** The report of a file with rejected rows takes more than 2 KB. */
const row = 'A1,S1,M1,not a time,1'
const files = Array.from({ length: 15 }, (_, at) =>
  join(folder, `DEMO_${String(at + 1).padStart(2, '0')}072025_Electric.csv`),
)
for (const [at, file] of files.entries()) {
  writeFileSync(file, [header, ...Array.from({ length: 40 }, () => `${row}${at}`), ''].join('\n'))
}

const whole = (t: Test, expected: number, ...args: readonly string[]) => {
  const { text, stderr, code } = slowly(...args)
  t.ok(text.length > pipeBytes, `${args[0]} prints more than a pipe holds: ${text.length}`)
  t.equal(code, expected, stderr)
  return text
}

t.test('a result of sql arrives complete', (t) => {
  const sql = 'SELECT number FROM numbers(200000)'
  const text = whole(t, 0, 'sql', sql, '--format', 'TSV', '--home', home)
  t.equal(text.split('\n').length, 200_001)
  t.ok(text.endsWith('\n199999\n'))
  t.end()
})

t.test('the statements of ddl arrive complete', (t) => {
  const text = whole(t, 0, 'ddl', '--profile', demoProfilePath)
  t.match(text, /;\n\n$/)
  t.match(text, 'CREATE TABLE IF NOT EXISTS tieline.audit_log')
  t.end()
})

t.test('the report of a check arrives complete', (t) => {
  const text = whole(t, 2, 'check', ...files, '--json')
  t.equal(JSON.parse(text).length, files.length)
  t.end()
})
