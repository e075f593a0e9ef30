import { readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const endMsMax = 15_000

/** Remembers the server of a data folder for `endOrphan` of the next start. */
export function writePid(dataPath: string, pid: number): void {
  writeFileSync(pidPath(dataPath), `${pid}\n`, { mode: 0o600 })
}

/**
 * Ends a redis-server that an earlier start left running on this data folder, for systems without
 * util-linux, where the kernel does not end it with its parent. A pid that now belongs to another
 * program is ignored.
 */
export async function endOrphan(dataPath: string): Promise<void> {
  const pid = Number(read(pidPath(dataPath)))
  for (let waited = 0; pid > 1 && isServerOf(pid, dataPath); waited += 50) {
    try {
      process.kill(pid, waited < endMsMax ? 'SIGTERM' : 'SIGKILL')
    } catch {
      break
    }
    await sleep(50)
  }
  rmSync(pidPath(dataPath), { force: true })
}

function pidPath(dataPath: string): string {
  return join(dataPath, 'redis.pid')
}

function isServerOf(pid: number, dataPath: string): boolean {
  const command = read(`/proc/${pid}/cmdline`)
  try {
    return command.includes('redis-server') && readlinkSync(`/proc/${pid}/cwd`) === dataPath
  } catch {
    return false
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
