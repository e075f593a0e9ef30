import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
