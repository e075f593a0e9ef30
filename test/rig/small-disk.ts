import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { createFolder } from './folder.js'

export interface SmallDisk {
  readonly path: string
  /** Takes the last free byte, also what was freed since. */
  fill(): void
  /** Gives everything back that `fill` took. */
  free(): void
}

/** A tmpfs of a few megabytes, gone with the test. Needs root; fails with the remedy without it. */
export function createSmallDisk(t: Test, megabytes: number): SmallDisk {
  const path = createFolder(t)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', path])
  } catch (cause) {
    const remedy = 'run it as root, or with unshare --map-root-user --mount'
    throw new Error(`this test mounts a tmpfs, which this user may not do: ${remedy}`, { cause })
  }
  t.teardown(() => execFileSync('umount', ['--lazy', path]))
  const ballast = join(path, 'ballast')
  return {
    path,
    fill: () => {
      const fd = openSync(ballast, 'a')
      try {
        for (let bytes = 1_048_576; bytes >= 1; bytes = Math.floor(bytes / 2)) {
          const block = Buffer.alloc(bytes)
          while (writes(fd, block));
        }
      } finally {
        closeSync(fd)
      }
    },
    free: () => rmSync(ballast, { force: true }),
  }
}

function writes(fd: number, block: Buffer): boolean {
  try {
    return writeSync(fd, block) === block.length
  } catch {
    return false
  }
}
