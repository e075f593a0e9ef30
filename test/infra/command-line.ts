import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { packageRoot } from '../../infra/package-root.js'
import { demoProfilePath, readProfile } from '../../infra/stack/profile-file.js'
import { placeReadyMade } from '../rig/ready-made.js'

const program = join(packageRoot(import.meta.url), 'dist', 'infra', 'main.js')

export interface Run {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Runs `tieline` as a person would and waits for its end. */
export async function tieline(...args: readonly string[]): Promise<Run> {
  const child = startTieline(...args)
  const texts = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      texts[name] += text
    })
  }
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, ...texts }
}

/** A data folder whose database has its migrations, for commands with the profile of the demo. */
export async function createHome(folder: string): Promise<string> {
  const home = join(folder, 'data')
  await placeReadyMade(join(home, 'clickhouse'), readProfile(demoProfilePath))
  return home
}

/** Starts `tieline` and returns at once. */
export function startTieline(...args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
}
