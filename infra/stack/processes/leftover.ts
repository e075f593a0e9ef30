import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'

/** A process by pid and start time, because pids are reused. */
const processSchema = z.object({ pid: z.number().int(), began: z.string() })

const lookMs = 20
const killMsMax = 10_000

/**
 * Remembers a server in a file, so that the next start ends it if it is left over. On a full disk the
 * server runs all the same, and ends with its parent.
 */
export function rememberServer(path: string, pid: number | undefined): void {
  const began = pid === undefined ? undefined : startOf(pid)
  if (began === undefined) return
  try {
    writeFileSync(path, JSON.stringify({ pid, began }), { mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

/**
 * Ends the server that an earlier start left running: with SIGTERM, after `graceMs` with SIGKILL. A
 * pid that now belongs to another process is ignored.
 */
export async function endLeftover(path: string, graceMs: number): Promise<void> {
  const server = readServer(path)
  const isLeft = () => server !== undefined && startOf(server.pid) === server.began
  for (let waitedMs = 0; isLeft() && waitedMs < graceMs + killMsMax; waitedMs += lookMs) {
    try {
      process.kill(server?.pid as number, waitedMs < graceMs ? 'SIGTERM' : 'SIGKILL')
    } catch {
      break
    }
    await sleep(lookMs)
  }
  rmSync(path, { force: true })
}

function readServer(path: string): z.infer<typeof processSchema> | undefined {
  try {
    return processSchema.parse(JSON.parse(readFileSync(path, 'utf8')))
  } catch {
    return undefined
  }
}

/**
 * The start of a process in kernel ticks since boot; undefined if it has ended. It is field 22 of
 * /proc/<pid>/stat, counted after the program name, which may contain spaces.
 */
export function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? undefined : fields[19]
  } catch {
    return undefined
  }
}
