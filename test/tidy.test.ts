import { readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import t from 'tap'
import ts from 'typescript'
import { packageRoot } from '../infra/package-root.js'
import { exportedNames, sourceFiles as files, type SourceFile, visit } from './tidy/source-files.js'
import './tidy/statements.js'
import './tidy/words.js'

const root = packageRoot(import.meta.url)
const lineMax = 300
const functionLinesMax = 70
const parametersMax = 3

/** The house that a relative import leads into. */
function houseOf(file: SourceFile, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined
  const target = relative(root, join(root, file.path, '..', specifier))
  return target.replaceAll('\\', '/').split('/')[0]
}

const packageOf = (specifier: string) =>
  specifier.startsWith('@')
    ? specifier.split('/').slice(0, 2).join('/')
    : (specifier.split('/')[0] ?? '')

const isOurs = (specifier: string) => specifier.startsWith('.') || specifier.startsWith('node:')

t.test('imports flow one way: schemas, pipeline, api, infra', async (t) => {
  const allowed: Readonly<Record<string, readonly string[]>> = {
    schemas: ['schemas'],
    pipeline: ['schemas', 'pipeline'],
    api: ['schemas', 'pipeline', 'api'],
    infra: ['schemas', 'pipeline', 'api', 'infra'],
  }
  for (const file of files) {
    const houses = allowed[file.house]
    if (houses === undefined) continue
    for (const specifier of file.imports) {
      const house = houseOf(file, specifier)
      if (house !== undefined && !houses.includes(house)) {
        t.fail(`${file.path} imports ${specifier}`)
      }
    }
  }
  t.ok(files.length > 20)
})

t.test('api sees of the pipeline only its stores and queues', async (t) => {
  const wrong = files
    .filter((file) => file.house === 'api')
    .flatMap((file) => file.imports.filter((one) => houseOf(file, one) === 'pipeline'))
    .filter(
      (specifier) =>
        !/pipeline\/(deadline\.js|tls-files\.js|(store|ledger|queues)\/)/.test(specifier),
    )
  t.same(wrong, [])
})

t.test('schemas import nothing but zod', async (t) => {
  const found = files
    .filter((file) => file.house === 'schemas')
    .flatMap((file) => file.imports.filter((one) => !one.startsWith('.')))
  t.same([...new Set(found)], ['zod'])
})

t.test('each vendor package comes in through one door', async (t) => {
  const doors = new Map<string, Set<string>>()
  const shared = new Set(['zod'])
  for (const file of files) {
    if (!['schemas', 'pipeline', 'api', 'infra'].includes(file.house)) continue
    for (const specifier of file.imports) {
      if (isOurs(specifier) || shared.has(packageOf(specifier))) continue
      const isType = new RegExp(`import type [^;]*?from '${specifier}'`).test(file.text)
      if (isType) continue
      const vendor = packageOf(specifier)
      doors.set(vendor, (doors.get(vendor) ?? new Set()).add(file.path))
    }
  }
  for (const [vendor, paths] of doors) t.equal(paths.size, 1, `${vendor}: ${[...paths]}`)
})

/** The files that a file imports, types included; a module of the package without its extension. */
const targetsOf = (file: SourceFile): readonly string[] =>
  file.imports
    .filter((one) => one.startsWith('.'))
    .map((one) => relative(root, join(root, file.path, '..', one)).replaceAll('\\', '/'))
    .map((path) => path.replace(/\.js$/, '.ts'))

t.test('no file imports itself by way of others, types included', async (t) => {
  const left = new Map(files.map((file) => [file.path, targetsOf(file)]))
  const known = new Set(left.keys())
  const isFree = ([, targets]: [string, readonly string[]]) =>
    !targets.some((target) => known.has(target) && left.has(target))
  for (let free = [...left].filter(isFree); free.length > 0; free = [...left].filter(isFree)) {
    for (const [path] of free) left.delete(path)
  }
  t.same([...left.keys()], [], 'files that are in a cycle or import one')
})

/** Compiled to WebAssembly: what it exports is named behind the module's own name. */
const assembly = 'pipeline/usage/measure/assembly/scan.ts'

t.test('every file is imported by another, unless a process starts with it', async (t) => {
  const starts = [
    /^infra\/(main|clickhouse\/server|stack\/processes\/(gateway|worker|back-office))\.ts$/,
    /^infra\/(operations\/browser\/(overview|file|board)|report\/browser\/draw)\.ts$/,
    /^benchmarks\/((chaos|cluster)\/)?main\.ts$/,
    /^test\/(run|.*\.test|.*-process|rig\/(spawn-files|no-processes)|story\/rig\/print-contents)\.ts$/,
  ]
  const imported = new Set(files.flatMap(targetsOf))
  const orphans = files.filter(
    ({ path }) =>
      path !== assembly && !imported.has(path) && !starts.some((start) => start.test(path)),
  )
  t.same(
    orphans.map(({ path }) => path),
    [],
  )
})

t.test('a folder has at most 15 loose files', async (t) => {
  const tables: Readonly<Record<string, string>> = {
    'infra/commands': 'each file is a command of one table',
    'test/infra/commands': 'each file tests a command of that table',
    'test/story': 'each file is a chapter of the manual',
  }
  const loose = new Map<string, number>()
  for (const { path } of files) {
    const folder = path.slice(0, path.lastIndexOf('/'))
    loose.set(folder, (loose.get(folder) ?? 0) + 1)
  }
  const wrong = [...loose].filter(([folder, count]) => count > 15 && !(folder in tables))
  t.same(wrong, [])
})

/** Types that a dependency hands out and does not export itself. */
const typesOnly = new Set(['ssh2'])

t.test('no import reaches into the private files of a package', async (t) => {
  const manifest = readFileSync(join(root, 'package.json'), 'utf8')
  const { dependencies } = JSON.parse(manifest) as { dependencies: Record<string, string> }
  for (const file of files.filter(({ house }) => house !== 'test' && house !== 'benchmarks')) {
    for (const specifier of file.imports.filter((one) => !isOurs(one))) {
      const isKnown = Object.hasOwn(dependencies, packageOf(specifier)) || typesOnly.has(specifier)
      const isPrivate = /\/(src|build|lib|dist|internal)\//.test(specifier)
      if (!isKnown || isPrivate) t.fail(`${file.path} imports ${specifier}`)
    }
  }
  t.ok(Object.keys(dependencies).length > 10)
})

t.test('neither schemas nor pipeline knows HTTP', async (t) => {
  const http = new Set(['node:http', 'node:https', 'node:http2', 'uWebSockets.js'])
  const found = files
    .filter((file) => file.house === 'schemas' || file.house === 'pipeline')
    .filter((file) => file.imports.some((one) => http.has(one)))
  t.same(
    found.map((file) => file.path),
    ['pipeline/store/tls.ts'],
  )
})

t.test('the environment is read in main.ts and nowhere else', async (t) => {
  const found = files
    .filter((file) => ['schemas', 'pipeline', 'api', 'infra'].includes(file.house))
    .filter((file) => /process\.env\b/.test(file.text))
    .map((file) => file.path)
  t.same(
    found.filter((path) => path !== 'infra/main.ts'),
    [],
  )
})

t.test('a file has at most 300 lines', async (t) => {
  for (const file of files) {
    const lines = file.text.split('\n').length - 1
    if (lines > lineMax) t.fail(`${file.path} has ${lines} lines`)
  }
})

t.test('a function has at most 70 lines and 3 parameters', async (t) => {
  for (const file of files.filter((one) => one.house !== 'test')) {
    visit(file.tree, (node) => {
      if (!ts.isFunctionLike(node) || !('body' in node) || node.body === undefined) return
      const { line } = file.tree.getLineAndCharacterOfPosition(node.getStart())
      const last = file.tree.getLineAndCharacterOfPosition(node.getEnd())
      const at = `${file.path}:${line + 1}`
      const lines = last.line - line + 1
      if (lines > functionLinesMax && !isFactory(node)) t.fail(`${at} has ${lines} lines`)
      if (node.parameters.length > parametersMax) {
        t.fail(`${at} takes ${node.parameters.length} parameters`)
      }
    })
  }
})

/** A factory's body is the object that it returns: its members are the functions that count. */
function isFactory(node: ts.Node): boolean {
  return ts.isFunctionDeclaration(node) && /^(create|register|add)[A-Z]/.test(node.name?.text ?? '')
}

t.test('names say what a file holds', async (t) => {
  const vague = /(^|[/-])(utils?|helpers?|common|managers?|services?|base|index|misc)(\.|\/|-)/
  for (const file of files) {
    if (vague.test(file.path)) t.fail(`${file.path} is a vague name`)
    if (!/^[a-z0-9./-]+$/.test(file.path)) t.fail(`${file.path} is not kebab-case`)
  }
})

t.test('no exported name means two things', async (t) => {
  const homes = new Map<string, string[]>()
  for (const file of files.filter(({ house, path }) => house !== 'test' && path !== assembly)) {
    for (const name of exportedNames(file)) {
      homes.set(name, [...(homes.get(name) ?? []), file.path])
    }
  }
  t.same(
    [...homes].filter(([, paths]) => paths.length > 1),
    [],
  )
  t.ok(homes.size > 1_000)
})

t.test('there are no default exports, no enums and no classes but Fault', async (t) => {
  for (const file of files) {
    visit(file.tree, (node) => {
      if (ts.isEnumDeclaration(node)) t.fail(`${file.path} has an enum`)
      if (ts.isExportAssignment(node)) t.fail(`${file.path} has a default export`)
      if (ts.isClassLike(node) && node.name?.text !== 'Fault') t.fail(`${file.path} has a class`)
    })
  }
})

t.test('no catch is empty and no type is any', async (t) => {
  for (const file of files) {
    visit(file.tree, (node) => {
      const isEmpty = ts.isCatchClause(node) && node.block.statements.length === 0
      if (isEmpty) t.fail(`${file.path} has an empty catch`)
      if (node.kind === ts.SyntaxKind.AnyKeyword) t.fail(`${file.path} has an any`)
    })
  }
})

t.test('a test never skips and never runs alone', async (t) => {
  const wrong = files
    .filter((file) => file.house === 'test')
    .filter((file) => /\bt\.(skip|todo|only)\(|\b(skip|only|todo): true/.test(file.text))
  t.same(
    wrong.map((file) => file.path).filter((path) => path !== 'test/tidy.test.ts'),
    [],
  )
})
