import { statSync } from 'node:fs'
import { Fault } from '../../schemas/fault.js'

export interface RenewalOptions {
  /** Takes what the files hold now; faults where they cannot be used. */
  readonly renew: () => Promise<void>
  /** Certificate files that are in use. */
  readonly files: readonly string[]
  readonly everyMs: number
  readonly onFailure: (fault: Fault) => void
}

/**
 * Looks at certificate files and has them taken when they have changed and stood still for one look,
 * so that a pair that is half written is not. Files that cannot be used are told of, once each
 * change, and what is in use stays.
 */
export function createRenewal(options: RenewalOptions): { close(): void } {
  const { renew, files, onFailure } = options
  let taken = stampOf(files)
  let seen = taken
  const look = async (): Promise<void> => {
    const before = seen
    seen = stampOf(files)
    if (seen === taken || seen !== before) return
    taken = seen
    await renew().catch((error: unknown) => {
      if (!(error instanceof Fault)) throw error
      onFailure(error)
    })
  }
  const timer = setInterval(() => void look(), options.everyMs)
  timer.unref()
  return { close: () => clearInterval(timer) }
}

/** Changes with any of the files; a file that is away for a moment changes it too. */
function stampOf(files: readonly string[]): string {
  const stamps = files.map((file) => {
    const stat = statSync(file, { throwIfNoEntry: false })
    return stat === undefined ? 'away' : `${stat.ino}:${stat.mtimeMs}:${stat.size}`
  })
  return stamps.join(' ')
}
