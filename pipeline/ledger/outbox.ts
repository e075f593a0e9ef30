import { basename, join } from 'node:path'
import { plainName } from '../../schemas/file-name.js'

/** The paths of an arrival's receipt and rejects. */
export interface OutboxPaths {
  readonly receipt: string
  readonly rejects: string
}

/** The folder in the outbox with the receipts of every arrival. */
export const arrivalsFolder = 'arrivals'

/** The paths by file name, which the latest arrival of that name overwrites. */
export function latestPaths(outbox: string, named: Named): OutboxPaths {
  return pathsOf(join(outbox, outboxName(named)))
}

/** The paths by arrival, which a later arrival of the name does not overwrite. */
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
 * A sender's name never leads out of the outbox. A name that had to be changed includes the arrival,
 * otherwise it could overwrite another file's receipt.
 */
function outboxName({ arrival, fileName }: Named): string {
  const name = plainName(basename(fileName))
  return name === fileName && /^[A-Za-z0-9]/.test(name) ? name : `arrival-${arrival}-${name}`
}
