import { basename, join } from 'node:path'
import { plainName } from '../../schemas/file-name.js'

/** Where the receipt of an arrival lies, and its rejects if it has some. */
export interface OutboxPaths {
  readonly receipt: string
  readonly rejects: string
}

/** The folder in the outbox that keeps what each arrival was given. */
export const arrivalsFolder = 'arrivals'

/** The paths under the file's name alone, where the latest arrival of that name is found. */
export function latestPaths(outbox: string, named: Named): OutboxPaths {
  return pathsOf(join(outbox, outboxName(named)))
}

/** The paths under the number of the arrival, which no later arrival of the name takes over. */
export function arrivalPaths(outbox: string, named: Named): OutboxPaths {
  return pathsOf(join(outbox, arrivalsFolder, `${named.arrival}-${outboxName(named)}`))
}

interface Named {
  readonly arrival: number
  readonly fileName: string
}

function pathsOf(stem: string): OutboxPaths {
  return { receipt: `${stem}.receipt.json`, rejects: `${stem}.rejects.csv` }
}

/**
 * A name from the sender is a name only: whatever it holds, the file lies in the outbox. One that
 * has to be written otherwise bears its arrival, or it could take the place of another's receipt.
 */
function outboxName({ arrival, fileName }: Named): string {
  const name = plainName(basename(fileName))
  return name === fileName && /^[A-Za-z0-9]/.test(name) ? name : `arrival-${arrival}-${name}`
}
