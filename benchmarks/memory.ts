import { readFileSync, writeFileSync } from 'node:fs'

/** Peak resident memory of a process in MB (10^6 bytes), undefined where it has ended. */
export function peakMb(pid: number | undefined): number | undefined {
  return readMb(pid, /^VmHWM:\s+(\d+) kB$/m)
}

/** Resident memory of a process now, as `peakMb`. */
export function residentMb(pid: number | undefined): number | undefined {
  return readMb(pid, /^VmRSS:\s+(\d+) kB$/m)
}

function readMb(pid: number | undefined, line: RegExp): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const kib = line.exec(status)?.[1]
    return kib === undefined ? undefined : (Number(kib) * 1_024) / 1e6
  } catch (error) {
    if (isGone(error)) return undefined
    throw error
  }
}

/** Lets the peak start again from what the process holds now; false where the system refuses. */
export function resetPeak(pid: number | undefined): boolean {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
    return true
  } catch {
    return false
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ENOENT' || code === 'ESRCH'
}
