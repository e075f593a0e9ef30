import { existsSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/** Lines in which Redis says why it cannot load its own files; those about space and rights are not. */
const aboutFiles = /(AOF|RDB|append[ -]only|loading DB)/i
const otherCauses =
  /WARNING|No space|Permission|Read-only|Too many open|Can't open|background|Short write|write error/i
const logBytesMax = 64 * 1024

/** The line of a log in which Redis refused its files; undefined if it did not. */
export function damageIn(log: Buffer): string | undefined {
  return log
    .subarray(-logBytesMax)
    .toString('utf8')
    .split('\n')
    .find((line) => / # /.test(line) && aboutFiles.test(line) && !otherCauses.test(line))
    ?.replace(/^.* # /, '')
}

/** What was written to a log from a position on. */
export function readFrom(logPath: string, from: number): Buffer {
  return existsSync(logPath) ? readFileSync(logPath).subarray(from) : Buffer.alloc(0)
}

/**
 * Sets the files of a Redis aside, so that it starts empty; the queue holds nothing that cannot be queued
 * again. Keeps only the latest ones. Returns their folder; undefined if there are none.
 */
export function setAside(dataPath: string): string | undefined {
  const path = join(dataPath, 'appendonlydir')
  if (!existsSync(path)) return undefined
  const aside = `${path}.damaged`
  rmSync(aside, { recursive: true, force: true })
  renameSync(path, aside)
  return aside
}
