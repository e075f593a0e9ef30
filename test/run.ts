import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { packageRoot } from '../infra/package-root.js'
import { ensureRedis } from '../infra/redis/install.js'
import { Fault } from '../schemas/fault.js'
import { ensureChromium } from './rig/chromium.js'
import { ensurePrometheus } from './rig/prometheus.js'
import { type Counts, createReader } from './rig/report.js'

const root = packageRoot(import.meta.url)

/** Runs the files named on the command line, or all tests, and counts every assertion. */
async function runTests(files: readonly string[]): Promise<{ counts: Counts; code: number }> {
  const tap = join(root, 'node_modules', 'tap', 'dist', 'esm', 'run.mjs')
  const child = spawn(process.execPath, [tap, '--reporter=tap', ...files], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const reader = createReader((line) => process.stdout.write(`${line}\n`))
  const ended = new Promise<number>((resolve) => child.once('close', (code) => resolve(code ?? 1)))
  for await (const line of createInterface({ input: child.stdout })) reader.read(line)
  return { code: await ended, counts: reader.counts() }
}

/** A run that fails without a failed assertion still counts one: the run itself. */
async function main(): Promise<void> {
  const say = (line: string) => void process.stdout.write(`${line}\n`)
  let counts: Counts = { passed: 0, failed: 1, skipped: 0 }
  try {
    await ensureRedis({ forced: process.env['TIELINE_INSTALL'] === '1', say })
    await ensurePrometheus(say)
    await ensureChromium(say)
    const run = await runTests(process.argv.slice(2))
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
