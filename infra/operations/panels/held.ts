import { passingFault } from '../../../pipeline/queues/wait.js'
import { faultCodes } from '../../../schemas/fault.js'
import type { SourceShown } from '../../commands/output/sources-shown.js'
import { readStandingOf, type Standing, todoOf } from '../problems.js'
import { askQueues, type PanelSource } from './ask.js'
import { readSourceHealth } from './sources.js'

/** Files that wait and are listed; all are counted. While Redis is away all that have not ended wait. */
const waitingMax = 20

/** What is to be seen to. */
export interface Held extends Standing {
  /** All files that wait, of which `waiting` has the first. */
  readonly waitingFiles: number
  /** Sources that fail, each with what to do; none while ClickHouse does not tell. */
  readonly failing: readonly (SourceShown & { readonly todo: string })[]
}

/** Sources that fail, files that wait or were refused, servers that do not answer; with what to do. */
export async function readHeld(source: PanelSource): Promise<Held> {
  const { store, queues } = source
  const waits = () => askQueues(queues.waits())
  const standing = await readStandingOf({ store, queues: { waits } })
  const away = standing.away.map(({ code }) => ({ code, detail: faultCodes[code].meaning }))
  const waiting = standing.waiting.slice(0, waitingMax)
  const waitingFiles = standing.waiting.length
  return { ...standing, waiting, waitingFiles, away, failing: await readFailing(source) }
}

/** A store that is away is told by the standing of the files. */
async function readFailing(source: PanelSource): Promise<Held['failing']> {
  try {
    const shown = await readSourceHealth(source)
    return shown
      .filter(({ state }) => state === 'failing')
      .map((one) => ({ ...one, todo: todoOf(one.code) }))
  } catch (error) {
    if (passingFault(error) === undefined) throw error
    return []
  }
}
