import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { packageRoot } from '../infra/package-root.js'
import { ensureRedis } from '../infra/redis/install.js'
import { Fault } from '../schemas/fault.js'
import { ensureChromium } from './rig/chromium.js'
import {
  canReplicate,
  isSampled,
  isUnit,
  longestFirst,
  recordSeconds,
  testFiles,
  testsOf,
} from './rig/files.js'
import { createTemporaryFolder } from './rig/folder.js'
import { ensurePrometheus } from './rig/prometheus.js'
import { type Counts, createReader } from './rig/report.js'
import { judgeStatements } from './rig/statements/page.js'

const root = packageRoot(import.meta.url)

/** Runs test files, the longest first, and counts every assertion. */
async function runTests(files: readonly string[]): Promise<{ counts: Counts; code: number }> {
  const program = join(root, 'dist', 'test', 'rig', 'spawn-files.js')
  const temporary = createTemporaryFolder()
  const statements = mkdtempSync(join(temporary.path, 'statements-'))
  const child = spawn(process.execPath, [program, ...longestFirst(files)], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: temporary.path, ...recordingInto(statements) },
  })
  const reader = createReader((line) => process.stdout.write(`${line}\n`), recordSeconds)
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)))
  try {
    for await (const line of createInterface({ input: child.stdout })) reader.read(line)
    const problems = judgeStatements(statements, process.env['TIELINE_WRITE_STATEMENTS'] === '1')
    for (const problem of problems) process.stdout.write(`✗ ${problem}\n`)
    const { failed, ...counts } = reader.counts()
    return { code: await ended, counts: { ...counts, failed: failed + problems.length } }
  } finally {
    temporary.remove()
  }
}

/** Every program that is started records what it sends to ClickHouse. */
function recordingInto(folder: string): NodeJS.ProcessEnv {
  const recorder = fileURLToPath(new URL('rig/statements/record-process.js', import.meta.url))
  const others = process.env['NODE_OPTIONS'] ?? ''
  return { TIELINE_STATEMENTS: folder, NODE_OPTIONS: `${others} --import=${recorder}`.trim() }
}

/**
 * `unit`, `long` and `replicated` are the sets of those names, `changed` what differs from a commit, by default the
 * last one; else files are named, or none for all.
 */
function chosen(words: readonly string[], say: (line: string) => void): readonly string[] {
  if (words[0] === 'changed') return changedSince(words[1] ?? 'HEAD', say)
  if (words[0] === 'unit') return testFiles().filter(isUnit)
  if (words[0] === 'long') return testFiles().filter(isSampled)
  if (words[0] === 'replicated') return testFiles().filter(canReplicate)
  return words.length > 0 ? words : testFiles()
}

function changedSince(commit: string, say: (line: string) => void): readonly string[] {
  const git = (...words: readonly string[]) =>
    execFileSync('git', words, { cwd: root, encoding: 'utf8' }).split('\n')
  const changed = [
    ...git('diff', '--name-only', '--relative', commit, '--'),
    ...git('ls-files', '--others', '--exclude-standard'),
  ]
  const { files, left } = testsOf(changed)
  say(
    `${files.length} test files are near to what differs from ${commit}; ${left} others import it`,
  )
  return files
}

/** The programs that tests start, installed where they are missing. */
async function ensurePrograms(say: (line: string) => void): Promise<void> {
  await ensureRedis({ forced: process.env['TIELINE_INSTALL'] === '1', say })
  await ensurePrometheus(say)
  await ensureChromium(say)
}

/** A run that fails without a failed assertion still counts one: the run itself. */
async function main(): Promise<void> {
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  let counts: Counts = { passed: 0, failed: 1, skipped: 0 }
  try {
    const files = chosen(process.argv.slice(2), say)
    if (!files.every(isUnit)) await ensurePrograms(say)
    const run = await runTests(files)
    const isSilent = run.code !== 0 && run.counts.failed === 0
    counts = { ...run.counts, failed: run.counts.failed + (isSilent ? 1 : 0) }
  } catch (error) {
    if (!(error instanceof Fault)) throw error
    say(error.message)
  }
  process.exitCode = counts.failed === 0 && counts.passed > 0 ? 0 : 1
  say(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`)
}

await main()
