import { chmodSync, existsSync, mkdtempSync, rmSync, statfsSync } from 'node:fs'
import { freemem, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

/**
 * A new folder, gone when every teardown that is registered after it has run.
 * tap removes its own test folder before the teardowns, under a server's feet.
 */
export function createFolder(t: Test): string {
  const path = mkdtempSync(join(tmpdir(), 'tieline-test-'))
  t.teardown(() => rmSync(path, { recursive: true, force: true, maxRetries: 5 }))
  return path
}

/** A file system in memory, on every Linux. */
const memoryPath = '/dev/shm'
/** What four test files at once leave there at most, with room to spare. */
const memoryBytesMin = 8 * 1024 ** 3

/** Where data are that nobody needs after a crash of the machine: in memory if it has these bytes. */
export function temporaryPlace(bytesMin: number): string {
  if (!existsSync(memoryPath)) return tmpdir()
  const { bavail, bsize } = statfsSync(memoryPath)
  return Math.min(bavail * bsize, freemem()) >= bytesMin ? memoryPath : tmpdir()
}

/**
 * The folder of temporary files of one run. It is in memory where there is room: engines make and
 * delete some hundred files for each file that is loaded, for which a disk takes ten times as long.
 * Tests kill processes, never the machine, so that what they prove does not depend on it. Any user
 * may write to it, as to other such folders: PostgreSQL runs as a user of its own.
 */
export function createTemporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(temporaryPlace(memoryBytesMin), 'tieline-run-'))
  chmodSync(path, 0o1777)
  return { path, remove: () => rmSync(path, { recursive: true, force: true, maxRetries: 5 }) }
}
