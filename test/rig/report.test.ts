import { t } from 'tap'
import { createReader } from './report.js'

const run = `# Subtest: dist/test/a.test.js
    # Subtest: one
        ok 1 - fine
        not ok 2 - wrong
          ---
          compare: ===
          ...
        1..2
    not ok 1 - one # time=31.79ms
    1..1
not ok 1 - dist/test/a.test.js # time=64.2ms
# Subtest: dist/test/b.test.js
    ok 1 - fine
    1..1
ok 2 - dist/test/b.test.js # time=1200ms
# { total: 6, pass: 2, fail: 1, todo: 1, skip: 2 }
`

t.test('a run is one line for each file, and all that a failing one says', async (t) => {
  const lines: string[] = []
  const reader = createReader((line) => lines.push(line))
  for (const line of run.split('\n')) reader.read(line)
  t.same(lines, [
    '✗ dist/test/a.test.js  0.1 s',
    '          not ok 2 - wrong',
    '            ---',
    '            compare: ===',
    '            ...',
    '      not ok 1 - one # time=31.79ms',
    '✓ dist/test/b.test.js  1.2 s',
  ])
  t.same(reader.counts(), { passed: 2, failed: 1, skipped: 3 })
  t.same(reader.seconds(), { 'dist/test/a.test.js': 0.064, 'dist/test/b.test.js': 1.2 })
})

t.test('a run without a count has no counts', async (t) => {
  const reader = createReader(() => undefined)
  reader.read('Bail out!')
  t.same(reader.counts(), { passed: 0, failed: 0, skipped: 0 })
})
