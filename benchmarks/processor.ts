import { readFileSync } from 'node:fs'

/** Of `/proc/<pid>/stat`; the kernel counts in hundredths for everybody. */
const ticksPerSecond = 100

/** Processor seconds that a process has taken so far, its threads' and the kernel's for it. */
export function processorSeconds(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}
