import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { packageRoot } from '../../infra/package-root.js'

const root = packageRoot(import.meta.url)
const secondsPath = join(root, '.tap', 'test-seconds.json')
/** Without the times of an earlier run these come first, the longest ahead: at the end it runs alone. */
export const longFiles: readonly string[] = `
  benchmarks/chaos 13-bills-match green-button/assertions guides/query.test commands/demo
  operations-watch commands/backup commands/restore lengths/rekey-killed connect/connect
  costs/corrections when-due lengths/rekey-held held/moved-away customers/histories
  formats/check-and-load groups/gather customers/registrations customers/usage-change
  verify/repair erase/erase-replicas independent.test interval-cost guides/send
  the-clocks-change records/agreement stack/stack whose-read reads/consumer
  held-beside-files intake/killed erase/erase.test bad-world two-gateways lengths/rekey-random
  bills/odd a-customer-logs-in reads/usage/usage the-rates-change commands/doctor commands/up
  bind.test schema/migrate.test bills/run views/queries
`
  .trim()
  .split(/\s+/)

/** All compiled test files, as paths from the root. */
export function testFiles(): readonly string[] {
  return readdirSync(join(root, 'dist', 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join('dist', 'test', name))
    .sort()
}

/** Whether a test needs no server: nothing that it imports can start a process. */
export function isUnit(file: string): boolean {
  return !importsOf(file).has('node:child_process')
}

/**
 * Whether a test needs its process for itself: it sets a variable that modules read when they are
 * loaded, or has a folder or an end for all of its tests.
 */
export function needsProcess(file: string): boolean {
  const text = readFileSync(join(root, file), 'utf8')
  return /^(process\.env\[.*\] = |t\.teardown|(const|await) .*(\(t[,)]|\bt\.testdir))/m.test(text)
}

/** Whether a test waits for time-outs and takes next to no processor time. */
export function waits(file: string): boolean {
  return /\/(listeners\/(uws|https)|queues\/(bullmq|repeat))\.test\.js$/.test(file)
}

/** Whether a test takes a sample of what it could try. */
export function isSampled(file: string): boolean {
  return importsOf(file).has(join('dist', 'test', 'rig', 'sample.js'))
}

/** These need something that the double of two replicas does not have. */
const onOneServerOnly: Readonly<Record<string, string>> = {}

const storeOfTests = join('dist', 'test', 'pipeline', 'customers', 'registering.js')

/** Whether a test's store can be one of two replicas. */
export function canReplicate(file: string): boolean {
  const text = readFileSync(join(root, file), 'utf8')
  const makesStore = /\b(migratedStore|createLineByHand|billRig)\b/.test(text)
  return makesStore && importsOf(file).has(storeOfTests) && !(file in onOneServerOnly)
}

const known = new Map<string, readonly string[]>()

/** Everything that a compiled file imports, and what that imports: paths from the root, packages. */
function importsOf(file: string, found: Set<string> = new Set()): ReadonlySet<string> {
  for (const name of directImports(file)) {
    if (found.has(name)) continue
    found.add(name)
    if (name.endsWith('.js')) importsOf(name, found)
  }
  return found
}

function directImports(file: string): readonly string[] {
  const before = known.get(file)
  if (before !== undefined) return before
  const text = readFileSync(join(root, file), 'utf8')
  const matches = text.matchAll(/(?:^(?:import|export)\b[^'";]*?|\bimport\()'([^']+)'/gm)
  const names = [...matches].map(([, name = '']) =>
    name.startsWith('.') ? relative(root, join(root, dirname(file), name)) : name,
  )
  const imports = names.filter((name) => !name.endsWith('.js') || existsSync(join(root, name)))
  known.set(file, imports)
  return imports
}

/** The files that took longest in the run before come first, so that none is left alone at the end. */
export function longestFirst(files: readonly string[]): readonly string[] {
  const seconds = readSeconds()
  const guess = (file: string) => {
    const at = longFiles.findIndex((name) => file.includes(name))
    return at < 0 ? 1 : 60 - at
  }
  const of = (file: string) => seconds[file] ?? guess(file)
  return [...files].sort((a, b) => of(b) - of(a))
}

/** Two lanes take these in eight minutes or so. */
const changedSecondsMax = 900

/**
 * The test files that a change concerns: those that import something of it, the nearest in the tree first, as
 * many as a developer waits for. `changed` are paths of sources from the root.
 */
export function testsOf(changed: readonly string[]): { files: readonly string[]; left: number } {
  const compiled = changed
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join('dist', name.replace(/\.ts$/, '.js')))
  const isConcerned = (file: string) => {
    const imports = importsOf(file)
    return compiled.some((name) => name === file || imports.has(name))
  }
  const concerned = testFiles().filter(isConcerned)
  const distance = (file: string) => Math.min(...compiled.map((name) => distanceOf(file, name)))
  const nearest = concerned.sort((a, b) => distance(a) - distance(b))
  const seconds = readSeconds()
  let sum = 0
  const files = nearest.filter((file) => {
    sum += seconds[file] ?? 15
    return sum <= changedSecondsMax
  })
  return { files, left: nearest.length - files.length }
}

/** How many folders are between a test and a source, in trees of which one mirrors the other. */
function distanceOf(file: string, name: string): number {
  const [test = [], source = []] = [file, name].map((path) =>
    path
      .replace(/(\.test)?\.js$/, '')
      .split('/')
      .filter((part) => part !== 'test'),
  )
  const shared = test.findIndex((part, at) => part !== source[at])
  return shared < 0 ? 0 : test.length + source.length - 2 * shared
}

/** At once: a run may be ended by hand. */
export function recordSeconds(file: string, seconds: number): void {
  mkdirSync(dirname(secondsPath), { recursive: true })
  const all = { ...readSeconds(), [file]: seconds }
  writeFileSync(secondsPath, `${JSON.stringify(all, undefined, 1)}\n`)
}

function readSeconds(): Readonly<Record<string, number>> {
  if (!existsSync(secondsPath)) return {}
  return JSON.parse(readFileSync(secondsPath, 'utf8')) as Record<string, number>
}
