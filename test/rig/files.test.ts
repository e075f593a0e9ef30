import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { t } from 'tap'
import {
  canReplicate,
  isSampled,
  isUnit,
  longestFirst,
  longFiles,
  testFiles,
  testsOf,
} from './files.js'

const run = promisify(execFile)
const guard = fileURLToPath(new URL('no-processes.js', import.meta.url))

t.test('tests that can start a process are not unit tests, and most others are', async (t) => {
  const files = testFiles()
  const chapters = files.filter((file) => /\/story\/\d\d-/.test(file))
  t.ok(chapters.length > 20, 'the chapters were found')
  t.same(chapters.filter(isUnit), [])
  t.ok(isUnit('dist/test/schemas/quantity.test.js'))
  t.notOk(isUnit('dist/test/infra/redis/start.test.js'))
  t.ok(files.filter(isUnit).length >= 70, `${files.filter(isUnit).length} unit tests`)
})

t.test('a unit test that starts a process after all fails', async (t) => {
  const starts = "require('node:child_process').spawn('true')"
  await t.rejects(run(process.execPath, [`--import=${guard}`, '--eval', starts]), {
    message: /a unit test must not start a process/,
  })
})

t.test('each file is run once, whatever took longest', async (t) => {
  const files = testFiles()
  t.same([...longestFirst(files)].sort(), files)
  const isNone = (name: string) => !files.some((file) => file.includes(name))
  t.same(longFiles.filter(isNone), [], 'those that take long are there')
  t.ok(isSampled('dist/test/benchmarks/chaos.test.js'))
  t.notOk(isSampled('dist/test/story/01-a-file-arrives.test.js'))
})

t.test('tests that make a store of their own run on two replicas too', (t) => {
  const files = testFiles().filter(canReplicate)
  t.ok(files.length >= 30, `${files.length} tests`)
  t.ok(canReplicate('dist/test/pipeline/bills/run.test.js'))
  t.notOk(canReplicate('dist/test/story/01-a-file-arrives.test.js'))
  t.end()
})

t.test('a change is tested by what imports it, the nearest first', (t) => {
  const { files, left } = testsOf(['pipeline/usage/overlap.ts', 'README.md'])
  t.equal(files[0], 'dist/test/pipeline/usage/overlap.test.js')
  t.match(files[1], /^dist.test.pipeline.usage/)
  t.ok(left > 0, 'not all of what imports it')
  t.match(testsOf(['pipeline/customers/held.ts']).files[0], /^dist.test.pipeline.customers.held/)
  t.same(testsOf(['schemas/quantity.ts']).files[0], 'dist/test/schemas/quantity.test.js')
  t.same(testsOf(['test/schemas/quantity.test.ts']), {
    files: ['dist/test/schemas/quantity.test.js'],
    left: 0,
  })
  t.same(testsOf(['README.md']), { files: [], left: 0 })
  t.end()
})
