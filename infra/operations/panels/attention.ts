import { passingFault } from '../../../pipeline/queues/wait.js'
import { faultCodes } from '../../../schemas/fault.js'
import type { SourceShown } from '../../commands/output/sources-shown.js'
import { missingTodo, type Problems, readProblemsOf, todoOf } from '../problems.js'
import { type PanelSource, queryQueues } from './query.js'
import { readSourceHealth } from './sources.js'

/** Listed waiting files; all are counted. While Redis is down, all unfinished files wait. */
const waitingMax = 20
const missingMax = 20

/** What needs attention. */
export interface Attention extends Problems {
  /** Number of all waiting files; `waiting` lists the first. */
  readonly waitingFiles: number
  /** Number of all damage; `missing` lists the first. */
  readonly missingCount: number
  readonly missingTodo: string
  /** Failing sources, each with a remedy; empty while ClickHouse does not answer. */
  readonly failing: readonly (SourceShown & { readonly todo: string })[]
}

/** Failing sources, waiting and quarantined files and servers that do not answer, with remedies. */
export async function readAttention(source: PanelSource): Promise<Attention> {
  const { store, queues } = source
  const waits = () => queryQueues(queues.waits())
  const problems = await readProblemsOf({ store, queues: { waits } })
  const away = problems.away.map(({ code }) => ({ code, detail: faultCodes[code].meaning }))
  const missing = problems.missing.slice(0, missingMax)
  const missingCount = problems.missing.length
  const waiting = problems.waiting.slice(0, waitingMax)
  const waitingFiles = problems.waiting.length
  const shown = { ...problems, missing, missingCount, missingTodo, waiting, waitingFiles }
  return { ...shown, away, failing: await readFailing(source) }
}

/** Empty while the store does not answer: the problems of the files report that. */
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
