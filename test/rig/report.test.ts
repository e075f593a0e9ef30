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
  const seconds: [string, number][] = []
  const reader = createReader(
    (line) => lines.push(line),
    (...one) => seconds.push(one),
  )
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
  t.same(Object.fromEntries(seconds), {
    'dist/test/a.test.js': 0.064,
    'dist/test/b.test.js': 1.2,
  })
})

const several = `# Subtest: unit-1
    # file dist/test/a.test.js
    ok 1 - one # time=30ms
    # file dist/test/b.test.js
    # Subtest: two
        not ok 1 - wrong
        1..1
    not ok 2 - two # time=20ms
    # file dist/test/c.test.js
    ok 3 - three # time=1.5s
    1..3
not ok 1 - unit-1 # time=1600ms
# { total: 3, pass: 2, fail: 1 }
`

t.test('of several files in one process each has its line, and its failures', async (t) => {
  const lines: string[] = []
  const reader = createReader((line) => lines.push(line))
  for (const line of several.split('\n')) reader.read(line)
  t.same(lines, [
    '✓ dist/test/a.test.js  0.0 s',
    '✗ dist/test/b.test.js  0.0 s',
    '          not ok 1 - wrong',
    '      not ok 2 - two # time=20ms',
    '✓ dist/test/c.test.js  1.5 s',
  ])
  t.same(reader.counts(), { passed: 2, failed: 1, skipped: 0 })
})

t.test('a process of several files that ends badly fails in the last of them', async (t) => {
  const lines: string[] = []
  const reader = createReader((line) => lines.push(line))
  const died = `    # file dist/test/a.test.js
    ok 1 - one # time=30ms
    # file dist/test/b.test.js
not ok 1 - unit-1 # time=1600ms`
  for (const line of died.split('\n')) reader.read(line)
  t.same(lines, ['✓ dist/test/a.test.js  0.0 s', '✗ dist/test/b.test.js  0.0 s'])
})

t.test('a run without a count has no counts', async (t) => {
  const reader = createReader(() => undefined)
  reader.read('Bail out!')
  t.same(reader.counts(), { passed: 0, failed: 0, skipped: 0 })
})
