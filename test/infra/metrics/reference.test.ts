import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { catalogue } from '../../../infra/metrics/catalogue.js'
import { renderReference } from '../../../infra/metrics/reference.js'
import { createRegistry } from '../../../infra/metrics/registry.js'
import { packageRoot } from '../../../infra/package-root.js'
import { alertExpressions, dashboardExpressions, parseScrape } from './scrape.js'

const run = promisify(execFile)
const root = packageRoot(import.meta.url)
const folder = join(root, 'infra', 'metrics')

t.test('the reference matches the catalogue', async (t) => {
  const remedy = `write it again: node -e "import('./dist/infra/metrics/reference.js').then((m) => process.stdout.write(m.renderReference()))" > infra/metrics/README.md`
  t.ok(readFileSync(join(folder, 'README.md'), 'utf8') === renderReference(), remedy)
})

t.test('rules and dashboard use metrics of the catalogue, and use each of them', async (t) => {
  const known = new Set(Object.keys(catalogue))
  const expressions = [...alertExpressions().map(({ expr }) => expr), ...dashboardExpressions()]
  const named = expressions.flatMap((expr) => expr.match(/\btieline_\w+/g) ?? [])
  const unknown = named.filter((name) => !known.has(name.replace(/_(bucket|count|sum)$/, '')))
  t.same(unknown, [])
  for (const name of known) {
    t.ok(
      named.some((one) => one.startsWith(name)),
      `${name} is used`,
    )
  }
})

t.test('promtool accepts the rules, and they fire as expected', async (t) => {
  const said = await run('promtool', ['check', 'rules', join(folder, 'alerts.yaml')])
  t.match(said.stdout, /SUCCESS: \d+ rules found/)
  const tested = await run('promtool', ['test', 'rules', join(folder, 'alerts.test.yaml')])
  t.match(tested.stdout, /SUCCESS/)
})

t.test('an unknown value is not reported; a process reports only its own metrics', async (t) => {
  const metrics = createRegistry('worker')
  metrics.set('tieline_oldest_file_seconds', {}, 7)
  metrics.set('tieline_files', { status: 'received' }, 2)
  metrics.observe('tieline_step_seconds', { step: 'load' }, 0.2)
  const before = parseScrape(await metrics.text())
  t.equal(before.get('tieline_oldest_file_seconds'), 7)
  t.equal(before.get('tieline_files{status="received"}'), 2)
  t.equal(before.get('tieline_step_seconds_bucket{le="0.25",step="load"}'), 1)
  metrics.clear('tieline_oldest_file_seconds')
  metrics.clear('tieline_files')
  const after = parseScrape(await metrics.text())
  t.notOk(after.has('tieline_oldest_file_seconds'))
  t.notOk(after.has('tieline_files{status="received"}'))
  t.throws(() => metrics.add('tieline_requests_total', { route: '', status: '', error_code: '' }), {
    message: /worker does not report tieline_requests_total/,
  })
})
