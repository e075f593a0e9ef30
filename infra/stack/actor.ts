import { userInfo } from 'node:os'
import type { Actor } from '../../pipeline/ledger/audit.js'

/** The actor of a command: the user of the operating system, by number if it has no name. */
export function commandActor(): Actor {
  return { who: nameOf(), via: 'command' }
}

function nameOf(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
