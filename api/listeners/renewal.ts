import { statSync } from 'node:fs'
import { Fault } from '../../schemas/fault.js'

export interface RenewalOptions {
  /** Loads the files again; throws a fault if they are unusable. */
  readonly renew: () => Promise<void>
  /** Certificate files that are in use. */
  readonly files: readonly string[]
  readonly everyMs: number
  readonly onFailure: (fault: Fault) => void
}

/**
 * Polls certificate files and reloads them once a change has been stable for one poll, so that a half
 * written pair is never loaded. Unusable files are reported once per change; the old ones stay in use.
 */
export function createRenewal(options: RenewalOptions): { close(): void } {
  const { renew, files, onFailure } = options
  let taken = versionOf(files)
  let seen = taken
  const poll = async (): Promise<void> => {
    const before = seen
    seen = versionOf(files)
    if (seen === taken || seen !== before) return
    taken = seen
    await renew().catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      onFailure(error)
    })
  }
  const timer = setInterval(() => void poll(), options.everyMs)
  timer.unref()
  return { close: () => clearInterval(timer) }
}

/** A text that changes with any of the files, also when one is missing for a moment. */
function versionOf(files: readonly string[]): string {
  const versions = files.map((file) => {
    const stat = statSync(file, { throwIfNoEntry: false })
    return stat === undefined ? 'away' : `${stat.ino}:${stat.mtimeMs}:${stat.size}`
  })
  return versions.join(' ')
}
