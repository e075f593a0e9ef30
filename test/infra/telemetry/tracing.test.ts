import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { t } from 'tap'
import { packageRoot } from '../../../infra/package-root.js'
import { readTracing, startTracing } from '../../../infra/telemetry/tracing.js'
import { toStatementSpan } from '../../../pipeline/store/statement-span.js'
import { Fault } from '../../../schemas/fault.js'
import { createFolder } from '../../rig/folder.js'
import { until } from '../../story/rig/stack.js'
import { createReceiver } from '../../story/rig/traces.js'
import { tieline } from '../command-line.js'

t.test('the standard variables decide, and nothing set is off', async (t) => {
  const shared = 'OTEL_EXPORTER_OTLP_ENDPOINT'
  const own = 'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'
  const d = { [own]: 'http://d:1/x' }
  const read: readonly (readonly [Readonly<Record<string, string>>, string | undefined])[] = [
    [{}, undefined],
    [{ OTEL_SERVICE_NAME: 'acme' }, undefined],
    [{ OTEL_TRACES_SAMPLER: 'half' }, undefined],
    [{ [shared]: '' }, undefined],
    [{ [shared]: 'http://c:4318' }, 'http://c:4318/v1/traces'],
    [{ [shared]: 'https://c/otlp/' }, 'https://c/otlp/v1/traces'],
    [{ [shared]: 'https://u:p@c/?key=1' }, 'https://u:p@c/v1/traces?key=1'],
    [{ [shared]: 'http://c:4318', [own]: ' ' }, 'http://c:4318/v1/traces'],
    [{ [shared]: 'http://c:4318', ...d }, d[own]],
    [{ ...d, OTEL_SDK_DISABLED: 'TRUE', OTEL_TRACES_SAMPLER: 'half' }, undefined],
    [{ ...d, OTEL_TRACES_EXPORTER: 'none' }, undefined],
    [{ ...d, OTEL_TRACES_EXPORTER: 'otlp', OTEL_SDK_DISABLED: 'false' }, d[own]],
    [
      {
        ...d,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc',
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json',
      },
      d[own],
    ],
    [{ ...d, OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0.01' }, d[own]],
    [{ ...d, OTEL_EXPORTER_OTLP_CERTIFICATE: process.execPath }, d[own]],
    [{ ...d, OTEL_BSP_MAX_QUEUE_SIZE: '4096', OTEL_BSP_SCHEDULE_DELAY: ' ' }, d[own]],
  ]
  for (const [env, url] of read) t.equal(readTracing(env)?.url, url, JSON.stringify(env))
})

t.test('a variable that nothing can be made of is refused by name', async (t) => {
  const refused = [
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'hush', /ENDPOINT must begin with http:/],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', 'ftp://u:hush@c', /ENDPOINT must begin with http:/],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', / is grpc; it must be http\/json$/],
    ['OTEL_EXPORTER_OTLP_TRACES_TIMEOUT', '1e3', / must be a whole number from 1 to 999999$/],
    ['OTEL_EXPORTER_OTLP_COMPRESSION', 'zip', / must be one of none, gzip$/],
    ['OTEL_EXPORTER_OTLP_CLIENT_KEY', '/nowhere/key', / must name a file that can be read$/],
    ['OTEL_TRACES_EXPORTER', 'console', / must be one of otlp, none$/],
    ['OTEL_TRACES_SAMPLER', 'half', / is half; it must be one of always_on, /],
    ['OTEL_TRACES_SAMPLER_ARG', '1.5', / must be a number from 0 to 1$/],
    ['OTEL_BSP_MAX_QUEUE_SIZE', '-5', / must be a whole number /],
    ['OTEL_BSP_MAX_EXPORT_BATCH_SIZE', '0', / must be a whole number /],
    ['OTEL_BSP_EXPORT_TIMEOUT', 'soon', / must be a whole number /],
    ['OTEL_BSP_SCHEDULE_DELAY', '9999999', / must be a whole number /],
  ] as const
  for (const [name, value, message] of refused) {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://c', [name]: value }
    t.throws(() => readTracing(env), { code: 'CONFIG', message }, name)
    t.throws(() => readTracing(env), { message: new RegExp(`^CONFIG: ${name} (?!.*hush)`) }, name)
  }
})

t.test('a start says so before anything runs', async (t) => {
  const folder = createFolder(t)
  const home = join(folder, 'data')
  const file = join(folder, 'DEMO_21112026_Electric.csv')
  writeFileSync(file, '')
  process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] = 'collector:4318'
  const refused = { code: 1, stderr: /OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:/ }
  t.match(await tieline('up', '--home', home), refused)
  t.match(await tieline('load', file, '--home', home), refused)
  delete process.env['OTEL_EXPORTER_OTLP_ENDPOINT']
})

t.test('where it is off, gateway and worker load nothing of an exporter', async (t) => {
  const program = `
    const { createRequire } = await import('node:module')
    await import('./stack/processes/gateway.js')
    await import('./stack/processes/worker.js')
    const { startTracing } = await import('./telemetry/tracing.js')
    console.log(await startTracing(undefined, {}))
    const loaded = Object.keys(createRequire(import.meta.url).cache)
    console.log(loaded.filter((path) => /bullmq/.test(path)).length > 0)
    console.log(loaded.filter((path) => /bullmq-otel|opentelemetry.(sdk|exporter|otlp)/.test(path)))
    process.exit(0)`
  const cwd = join(packageRoot(import.meta.url), 'dist', 'infra')
  const said = execFileSync(process.execPath, ['--input-type=module', '-e', program], { cwd })
  t.equal(said.toString(), 'undefined\ntrue\n[]\n')
})

t.test('a failing receiver is reported once, one that is slow drops spans', async (t) => {
  const receiver = await createReceiver(t)
  Object.assign(process.env, {
    OTEL_BSP_MAX_QUEUE_SIZE: '8',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '8',
    OTEL_EXPORTER_OTLP_TIMEOUT: '20000',
  })
  const lines: string[] = []
  const log = pino({}, { write: (line: string) => void lines.push(line) })
  const tracing = await startTracing(receiver, { service: 'tieline-test', log })
  const span = { name: 'one', kind: 'client', attributes: { secret: 'canary' } } as const
  const trace = () => tracing?.tracer.trace(span, () => 1)
  const tellOf = (text: string) => lines.filter((line) => line.includes(text)).length
  receiver.answer(400)
  await until(() => {
    t.equal(trace(), 1)
    return receiver.requests() >= 3
  })
  t.equal(tellOf('TRACES_UNREACHABLE'), 1)
  receiver.answer(200)
  await until(() => {
    trace()
    return tellOf('again') === 1
  })
  const failing = () =>
    tracing?.tracer.trace({ ...span, name: 'failing' }, async () => {
      throw new Fault('STORE_REFUSED', 'canary')
    })
  await t.rejects(Promise.resolve(failing()), { code: 'STORE_REFUSED' })
  await until(() => receiver.spans().some(({ name }) => name === 'failing'))
  const failed = receiver.spans().find(({ name }) => name === 'failing')
  t.same(failed?.attributes, { 'error.type': 'STORE_REFUSED' })
  t.notMatch(receiver.text(), /canary/)
  receiver.answer(0)
  const before = receiver.spans().length
  for (let count = 0; count < 1_000; count++) trace()
  await tracing?.close()
  t.equal(tellOf('TRACES_UNREACHABLE'), 2, 'what a stop leaves unsent is reported')
  t.ok(receiver.spans().length - before < 100, 'a queue of bounded length')
  // The stop did not wait until it was given up: what is answered after it is still heard.
  receiver.answer(200)
  await until(() => tellOf('again') === 2)
})

t.test('a span has the kind and table of its statement', async (t) => {
  const names = [
    ["SELECT 1 FROM usage_read WHERE meter_id = 'from x'", 'SELECT usage_read'],
    ['-- why\n  WITH a AS (SELECT 1 FROM story.tenancy FINAL) SELECT 2 FROM a', 'SELECT tenancy'],
    ['INSERT INTO confirmation (a, b)', 'INSERT confirmation'],
    ['INSERT INTO staging_17_reads SELECT 1 FROM input()', 'INSERT staging_*_reads'],
    ['CREATE TABLE IF NOT EXISTS `story`.`x9`', 'CREATE x*'],
    ['CREATE TABLE IF NOT EXISTS y (a String)', 'CREATE y'],
    ['CREATE OR REPLACE TABLE y AS x', 'CREATE y'],
    ['ALTER TABLE t ATTACH PARTITION', 'ALTER t'],
    ['SELECT count() FROM numbers(3)', 'SELECT'],
    ['SELECT * FROM {table:Identifier}', 'SELECT'],
    ['', 'OTHER'],
  ] as const
  for (const [sql, name] of names) t.equal(toStatementSpan(sql).name, name, sql)
})
