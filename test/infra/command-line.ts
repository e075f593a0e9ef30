import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'
import type { Context } from '../../infra/commands/context.js'
import { numberedMeters } from '../../infra/demo/customers.js'
import { packageRoot } from '../../infra/package-root.js'
import { openHome } from '../../infra/stack/home.js'
import { withOwnStore } from '../../infra/stack/own-store.js'
import { demoProfilePath, readProfile } from '../../infra/stack/profile-file.js'
import { attachStack } from '../../infra/stack/stack.js'
import { createStore } from '../../pipeline/store/clickhouse.js'
import { placeReadyMade } from '../rig/ready-made.js'

export const program = join(packageRoot(import.meta.url), 'dist', 'infra', 'main.js')

export interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `tieline` as a person would and waits for its end. */
export async function tieline(...args: readonly string[]): Promise<Run> {
  const child = startTieline(...args)
  const texts = textsOf(child)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...texts }
}

/** What a child has printed so far. */
function textsOf(child: ChildProcess): Omit<Run, 'code'> {
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
    })
  }
  return texts
}

/** What a command is given that runs in this process, beside a running stack. */
export function commandContext(homePath: string, print: (text: string) => void): Context {
  return {
    homePath,
    print,
    profilePath: undefined,
    external: {},
    secret: () => '',
    tracing: () => undefined,
    installs: false,
    ending: new AbortController().signal,
    say: () => undefined,
  }
}

/** A data folder whose database has its migrations, for commands with the profile of the demo. */
export async function createHome(folder: string): Promise<string> {
  const home = join(folder, 'data')
  await placeReadyMade(join(home, 'clickhouse'), readProfile(demoProfilePath))
  return home
}

/** Starts `tieline` and waits until it has printed a text; what it has printed so far. Rejects if it ends before. */
export async function startUntil(text: string, ...args: readonly string[]) {
  const child = startTieline(...args)
  const texts = textsOf(child)
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', () => texts.stdout.includes(text) && resolve())
    child.once('close', (code) =>
      reject(new Error(`tieline ${args.join(' ')} ended (${code}): ${texts.stderr}`)),
    )
  })
  return { child, seen: texts.stdout }
}

/**
 * Reads from the running `tieline up` of a data folder, as TSV, and '' while it does not respond. A
 * `tieline sql` for each look of a loop would cost half a second of processor time.
 */
export function readerOf(t: Test, home: string): (statement: string) => Promise<string> {
  const stack = attachStack(openHome(home))
  if (stack === undefined) throw new Error(`nothing runs on ${home}`)
  const store = createStore(stack.store)
  t.teardown(() => store.close())
  return async (statement) => {
    try {
      return (await text(await store.stream({ sql: statement }, 'TSV'))).trim()
    } catch {
      return ''
    }
  }
}

/**
 * Reads from a data folder on which nothing runs, as TSV. `tieline sql` would start Redis and a worker
 * too, at four times the processor time.
 */
export function readStopped(home: string, statement: string): Promise<string> {
  return withOwnStore(openHome(home), readProfile(demoProfilePath), async (store) =>
    (await text(await store.stream({ sql: statement }, 'TSV'))).trim(),
  )
}

/** Ends it as Ctrl-C does; its exit code. */
export async function interrupt(child: ChildProcess): Promise<number | null> {
  child.kill('SIGINT')
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

/** 960 reads of ten meters. */
export const oneDay = {
  meters: numberedMeters(10),
  seed: 3,
  firstDay: '2025-07-01',
  days: 1,
  intervalSeconds: 900,
  zone: 'America/Detroit',
}

/** Starts `tieline` and returns at once. */
export function startTieline(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
}
