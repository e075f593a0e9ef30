import { execFile } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { packageRoot } from '../../../infra/package-root.js'
import { findProgram } from '../../../infra/redis/install.js'
import type { ReportFacts } from '../../../infra/report/facts.js'
import { homeFolders } from '../../../infra/stack/home.js'
import { readProfile } from '../../../infra/stack/profile-file.js'
import { createFolder } from '../../rig/folder.js'
import { judgeManifests, type Manifest } from './kubernetes.js'

const run = promisify(execFile)
const root = packageRoot(import.meta.url)
const folder = join(root, 'infra', 'deploy')

const labels = z.record(z.string(), z.string())
const named = z.looseObject({ name: z.string() })
const confined = z.object({
  allowPrivilegeEscalation: z.literal(false),
  readOnlyRootFilesystem: z.literal(true),
  capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
})
const probe = z.object({ httpGet: z.object({ path: z.string(), port: z.string() }) }).loose()
const container = z.looseObject({
  securityContext: confined,
  command: z.array(z.string()).optional(),
  volumeMounts: z.array(named),
  resources: z.object({ requests: labels, limits: z.looseObject({ memory: z.string() }) }),
})
const served = container.extend({
  ports: z.array(z.object({ name: z.string().max(15), containerPort: z.int() })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
})
const deployment = z.object({
  kind: z.literal('Deployment'),
  metadata: named,
  spec: z.object({
    replicas: z.int().min(2),
    selector: z.object({ matchLabels: labels }),
    strategy: z.object({ rollingUpdate: z.object({ maxUnavailable: z.literal(0) }).loose() }),
    template: z.object({
      metadata: z.looseObject({ labels }),
      spec: z.looseObject({
        automountServiceAccountToken: z.literal(false),
        securityContext: z.looseObject({ runAsNonRoot: z.literal(true), runAsUser: z.int() }),
        initContainers: z.array(container),
        containers: z.array(served),
        volumes: z.array(named),
      }),
    }),
  }),
})
const selecting = z.looseObject({ spec: z.looseObject({ selector: z.unknown() }) })

/** The image leaves out the compiled tests and benchmarks. */
const isShipped = (path: string) => !/\bdist\/(?:test|benchmarks)\b/.test(path)

const manifests = readdirSync(join(folder, 'kubernetes'))
  .filter((name) => name.endsWith('.yaml') && !name.endsWith('-profile.yaml'))
  .flatMap((name) => {
    const text = readFileSync(join(folder, 'kubernetes', name), 'utf8')
    return parseAllDocuments(text).map((document) => {
      const [error] = document.errors
      if (error !== undefined) throw error
      return document.toJS({ maxAliasCount: 10 }) as Manifest
    })
  })
const resources = manifests.filter(({ kind }) => kind !== 'Kustomization')
const ofKind = (kind: string) => manifests.filter((one) => one.kind === kind)
const deployments = ofKind('Deployment').map((one) => deployment.parse(one))

t.test('Kubernetes knows each field of the manifests, and has its type', async (t) => {
  t.same(judgeManifests(resources), [])
  const mistakes = [
    ['"livenessProbe":', '"livnessProbe":', `'"livnessProbe"' does not exist in type 'Container'`],
    ['"replicas":2', '"replicas":"2"', "'string' is not assignable to type 'number'"],
    ['"maxReplicas":', '"minReplicas":', "Property 'maxReplicas' is missing"],
  ] as const
  const good = JSON.stringify(resources)
  const wrong = mistakes.flatMap(([from, to]) => JSON.parse(good.replace(from, to)) as Manifest[])
  const found = judgeManifests(wrong)
  t.equal(found.length, mistakes.length)
  for (const [at, [, , message]] of mistakes.entries()) t.ok(found[at]?.includes(message), message)
})

t.test('pods are confined, and what they name is there', async (t) => {
  t.equal(deployments.length, 2)
  for (const { metadata, spec } of deployments) {
    const { template, selector } = spec
    const pod = template.spec
    t.same(selector.matchLabels, template.metadata.labels, metadata.name)
    const volumes = pod.volumes.map(({ name }) => name)
    for (const { volumeMounts } of [...pod.containers, ...pod.initContainers]) {
      t.same(
        volumeMounts.map(({ name }) => name).filter((name) => !volumes.includes(name)),
        [],
      )
    }
    for (const { ports, startupProbe, livenessProbe, readinessProbe } of pod.containers) {
      const names = ports.map(({ name }) => name)
      for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
        t.ok(names.includes(httpGet.port), `${metadata.name} has the port ${httpGet.port}`)
        t.match(httpGet.path, /^\/health\/(live|ready)$/)
      }
    }
  }
})

t.test('whatever one pod puts down for another lies where all find it', async (t) => {
  const own = ['clickhouse', 'redis', 'logs']
  const shared = homeFolders.filter((name) => !own.includes(name)).map((name) => `/data/${name}`)
  for (const { metadata, spec } of deployments) {
    for (const { volumeMounts } of spec.template.spec.containers) {
      const files = volumeMounts.filter(({ name }) => name === 'files')
      t.same(files.map(({ mountPath }) => mountPath).sort(), shared.toSorted(), metadata.name)
    }
    const [installing] = spec.template.spec.initContainers
    const given = ['secrets.json', 'machine']
    const paths = given.map((name) => `/run/secrets/tieline/${name}`)
    t.same(installing?.command, ['install', '-m', '600', ...paths, '/data'], 'one machine')
    const readme = readFileSync(join(folder, 'README.md'), 'utf8')
    t.ok(readme.includes(`tieline-files ${given.map((name) => `--from-file=${name}`).join(' ')}\n`))
  }
})

t.test('services and disruption budgets find pods, and the autoscaler its workers', async (t) => {
  const sets = deployments.map(({ spec }) => spec.template.metadata.labels)
  const finds = (wanted: Readonly<Record<string, string>>) =>
    sets.some((one) => Object.entries(wanted).every(([key, value]) => one[key] === value))
  for (const one of [...ofKind('Service'), ...ofKind('PodDisruptionBudget')]) {
    const { selector } = selecting.parse(one).spec
    const { matchLabels } = selector as { matchLabels?: Record<string, string> }
    t.ok(finds(matchLabels ?? (selector as Record<string, string>)), one.kind)
  }
  t.equal(ofKind('PodDisruptionBudget').length, deployments.length)
  const scaled = z
    .looseObject({ spec: z.looseObject({ scaleTargetRef: named }) })
    .parse(ofKind('HorizontalPodAutoscaler')[0])
  t.ok(deployments.some(({ metadata }) => metadata.name === scaled.spec.scaleTargetRef.name))
})

t.test('the profiles of the pods are valid, with the ports of the manifests', async (t) => {
  const gateway = readProfile(join(folder, 'kubernetes', 'gateway-profile.yaml'))
  const worker = readProfile(join(folder, 'kubernetes', 'worker-profile.yaml'))
  t.equal(worker.gateway, undefined)
  t.equal(gateway.database, worker.database)
  const ports = [
    gateway.gateway?.listen?.port,
    gateway.gateway?.mutual?.port,
    gateway.gateway?.operations.port,
    gateway.worker.operations.port,
  ]
  const [first] = deployments[0]?.spec.template.spec.containers ?? []
  t.same(
    first?.ports.map(({ containerPort }) => containerPort),
    ports,
  )
})

t.test('the image runs as nobody, compose too, each with a root that is read only', async (t) => {
  const image = readFileSync(join(folder, 'Dockerfile'), 'utf8')
  t.match(image, /^USER 65534:65534$/m)
  for (const [, from = '', path = ''] of image.matchAll(/^COPY (--from=build )?(\S+)/gm)) {
    const names = from === '' ? [path, 'package-lock.json', 'tsconfig.json'] : []
    for (const name of names) t.ok(readdirSync(root).includes(name.replace('./', '')), name)
  }
  const compose = readFileSync(join(folder, 'compose.yaml'), 'utf8')
  const [document] = parseAllDocuments(compose).map((one) => one.toJS())
  t.match(document.services.tieline, {
    user: '65534:65534',
    read_only: true,
    cap_drop: ['ALL'],
    security_opt: ['no-new-privileges:true'],
  })
  t.same(Object.keys(document.services), ['tieline', 'clickhouse', 'redis'])
})

/** A run without bills and reads. */
const noFacts: ReportFacts = {
  run: {
    run: 'r1',
    cycleId: '7',
    first: '2026-01-01',
    last: '2026-01-31',
    computedAt: '2026-02-01 00:00:00.000',
    knownAt: '2026-02-01 00:00:00.000',
    timeZone: 'America/Detroit',
  },
  totals: [],
  compared: [],
  costCauses: [],
  quantityCauses: [],
  outliers: [],
  days: [],
  shape: [],
}

t.test('the image has what the program reads while it runs', async (t) => {
  const image = createFolder(t)
  const dockerfile = readFileSync(join(folder, 'Dockerfile'), 'utf8')
  for (const [, path = ''] of dockerfile.matchAll(/^COPY --from=build \/app\/(\S+)/gm)) {
    if (path === 'node_modules') symlinkSync(join(root, path), join(image, path))
    else cpSync(join(root, path), join(image, path), { recursive: true, filter: isShipped })
  }
  const read = `import { readStatements } from './dist/infra/schema/migrate.js'
    import { readAssets } from './dist/infra/operations/assets.js'
    import { renderReport } from './dist/infra/report/page.js'
    import { demoProfilePath, readProfile } from './dist/infra/stack/profile-file.js'
    const report = renderReport(${JSON.stringify(noFacts)})
    console.log(
      readAssets().size,
      (await readStatements(readProfile(demoProfilePath))).length,
      report.length,
    )`
  const { stdout } = await run(process.execPath, ['--input-type=module', '--eval', read], {
    cwd: image,
  })
  t.match(stdout, /^[1-9]\d* [1-9]\d* [1-9]\d{4,}$/m)
})

t.test('the scripts that build and try the image are valid shell', async (t) => {
  const names = readdirSync(folder).filter((name) => name.endsWith('.sh'))
  t.same(names, ['image-base.sh', 'image.sh'])
  const scripts = names.map((name) => join(folder, name))
  scripts.push(join(root, '.ci', 'image'), join(root, '.ci', 'run'))
  for (const script of scripts) {
    t.ok(statSync(script).mode & 0o100, `${script} can be run`)
    await run('sh', ['-n', script])
  }
  if ((await findProgram('shellcheck')) === undefined) {
    t.comment('shellcheck is not here: the scripts were only parsed')
    return
  }
  await run('shellcheck', scripts)
})

t.test('systemd takes the unit and finds little exposed', async (t) => {
  const unit = join(folder, 'systemd', 'tieline.service')
  const text = readFileSync(unit, 'utf8')
  const wanted = [
    'DynamicUser=yes',
    'NoNewPrivileges=yes',
    'ProtectSystem=strict',
    'KillMode=mixed',
  ]
  for (const line of wanted) t.ok(text.includes(`\n${line}\n`), line)
  if ((await findProgram('systemd-analyze')) === undefined) {
    t.comment('systemd-analyze is not here: the unit was only read')
    return
  }
  const verified = await run('systemd-analyze', ['verify', '--man=no', unit])
  t.equal(verified.stderr.replace(/^.*is not executable.*\n/gm, ''), '')
  const judged = await run('systemd-analyze', ['security', '--offline=true', unit])
  const [, exposure = '10'] =
    /exposure level for tieline.service: ([\d.]+)/.exec(judged.stdout) ?? []
  t.ok(Number(exposure) < 2, exposure)
})
