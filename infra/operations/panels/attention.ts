import { passingFault } from '../../../pipeline/queues/wait.js'
import { faultCodes } from '../../../schemas/fault.js'
import type { SourceShown } from '../../commands/output/sources-shown.js'
import { readProblemsOf, type Problems, todoOf } from '../problems.js'
import { askQueues, type PanelSource } from './ask.js'
import { readSourceHealth } from './sources.js'

/** Files that wait and are listed; all are counted. While Redis is away all that have not ended wait. */
const waitingMax = 20

/** What is to be seen to. */
export interface Attention extends Problems {
  /** All files that wait, of which `waiting` has the first. */
  readonly waitingFiles: number
  /** Sources that fail, each with what to do; none while ClickHouse does not tell. */
  readonly failing: readonly (SourceShown & { readonly todo: string })[]
}

/** Sources that fail, files that wait or were refused, servers that do not answer; with what to do. */
export async function readAttention(source: PanelSource): Promise<Attention> {
  const { store, queues } = source
  const waits = () => askQueues(queues.waits())
  const problems = await readProblemsOf({ store, queues: { waits } })
  const away = problems.away.map(({ code }) => ({ code, detail: faultCodes[code].meaning }))
  const waiting = problems.waiting.slice(0, waitingMax)
  const waitingFiles = problems.waiting.length
  return { ...problems, waiting, waitingFiles, away, failing: await readFailing(source) }
}

/** A store that is away is told by the problems of the files. */
async function readFailing(source: PanelSource): Promise<Attention['failing']> {
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
