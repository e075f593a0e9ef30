import { execFileSync } from 'node:child_process'
import { closeSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Fault } from '../../schemas/fault.js'

/** A process by pid and start time, because pids are reused. */
interface Holder {
  readonly pid: number
  readonly began: string
}

interface Held {
  readonly owner: Holder
  readonly engine?: Holder
}

export interface Lock {
  /** Records the engine's process, so that the next owner can end an orphan. */
  setEngine(pid: number): void
  release(): void
}

const endMsMax = 10_000

/**
 * Locks a data folder for this process. Throws `ALREADY_RUNNING` with folder and pid while another
 * process holds the lock. The lock of a process that has ended is taken over and its engine killed.
 */
export async function lockFolder(dataPath: string): Promise<Lock> {
  const path = join(dataPath, 'clickhouse.lock')
  const owner: Holder = { pid: process.pid, began: beganAt(process.pid) ?? '' }
  for (;;) {
    if (tryCreate(path, { owner })) break
    const held = readHeld(path)
    if (held !== undefined && isAlive(held.owner)) {
      throw new Fault(
        'ALREADY_RUNNING',
        `process ${held.owner.pid} is already using ${dataPath}; stop it first`,
      )
    }
    if (held?.engine !== undefined) await endEngine(held.engine)
    rmSync(path, { force: true })
  }
  return {
    setEngine: (pid) => {
      const began = beganAt(pid)
      if (began === undefined) return
      writeFileSync(`${path}.new`, JSON.stringify({ owner, engine: { pid, began } }), {
        mode: 0o600,
      })
      renameSync(`${path}.new`, path)
    },
    release: () => rmSync(path, { force: true }),
  }
}

async function endEngine(engine: Holder): Promise<void> {
  for (let waitedMs = 0; isAlive(engine) && waitedMs < endMsMax; waitedMs += 20) {
    process.kill(engine.pid, 'SIGKILL')
    await sleep(20)
  }
}

function tryCreate(path: string, held: Held): boolean {
  try {
    const fd = openSync(path, 'wx', 0o600)
    writeFileSync(fd, JSON.stringify(held))
    closeSync(fd)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

function readHeld(path: string): Held | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Held
  } catch {
    return undefined
  }
}

function isAlive({ pid, began }: Holder): boolean {
  return beganAt(pid) === began
}

/** Start time of a process as an opaque text; undefined if it has ended. */
function beganAt(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return process.platform === 'linux' ? undefined : beganByPs(pid)
  }
}

function beganByPs(pid: number): string | undefined {
  try {
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim()
  } catch {
    return undefined
  }
}
