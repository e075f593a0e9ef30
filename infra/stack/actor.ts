import { userInfo } from 'node:os'
import type { Actor } from '../../pipeline/ledger/audit.js'

/** Who gives a command: the user of the machine, by number where it has no name for him. */
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
