import { readDismissed } from '../../../pipeline/ledger/dismissals.js'
import { passingFault } from '../../../pipeline/queues/wait.js'
import { Fault } from '../../../schemas/fault.js'
import { type FailingRun, readOpenRuns } from '../../commands/output/failing-runs.js'
import type { SourceShown } from '../../commands/output/sources-shown.js'
import { type SystemShown, showSystems } from '../../commands/output/systems-shown.js'
import { readOpenSystems } from '../dismiss.js'
import { type ShownFault, showFault } from '../judge.js'
import { missingTodo, type Problems, readProblemsOf, todoOf } from '../problems.js'
import { type PanelSource, queryQueues } from './query.js'
import { readSourceHealth } from './sources.js'

/** Listed waiting files; all are counted. While Redis is down, all unfinished files wait. */
const waitingMax = 20
const missingMax = 20
const runsMax = 20

/** What needs attention. */
export interface Attention extends Omit<Problems, 'away'> {
  /** Servers that do not answer in time. */
  readonly away: readonly ShownFault[]
  /** When the problems were read, ISO 8601; earlier than now while ClickHouse does not answer. */
  readonly readAt: string
  /** Number of all waiting files; `waiting` lists the first. */
  readonly waitingFiles: number
  /** Number of all damage; `missing` lists the first. */
  readonly missingCount: number
  readonly missingTodo: string
  /** Failing sources, each with a remedy. */
  readonly failing: readonly (SourceShown & { readonly todo: string })[]
  /** Systems of the utility that fail. */
  readonly systems: readonly (SystemShown & { readonly todo: string })[]
  /** Bills and comparisons of rates that keep failing. */
  readonly runs: readonly (FailingRun & { readonly todo: string })[]
}

/**
 * Failing sources, waiting and quarantined files and servers that do not answer, with remedies. While
 * ClickHouse does not answer, the problems that it reported last are kept.
 */
export function createAttentionPanel(): (source: PanelSource) => Promise<Attention> {
  let known: Attention | undefined
  return async (source) => {
    const now = await readAttention(source, known)
    const isAway = now.away.some(({ code }) => code.startsWith('STORE_'))
    if (!isAway) known = now
    return { ...(known ?? now), away: now.away }
  }
}

async function readAttention(
  source: PanelSource,
  known: Attention | undefined,
): Promise<Attention> {
  const { store, queues, judge, now } = source
  const waits = () => queryQueues(queues.waits())
  const [problems, health] = await Promise.all([
    readProblemsOf({ store, queues: { waits } }),
    readFailing(source),
  ])
  const judged = problems.away.map(({ code, detail }) => judge(new Fault(code, detail)))
  return {
    ...problems,
    away: (await Promise.all(judged)).map(showFault),
    readAt: now().toISOString(),
    missing: problems.missing.slice(0, missingMax),
    missingCount: problems.missing.length,
    missingTodo,
    waiting: problems.waiting.slice(0, waitingMax),
    waitingFiles: problems.waiting.length,
    failing: health?.failing ?? known?.failing ?? [],
    systems: health?.systems ?? known?.systems ?? [],
    runs: health?.runs ?? known?.runs ?? [],
  }
}

/** Undefined while the store does not answer. */
async function readFailing(
  source: PanelSource,
): Promise<Pick<Attention, 'failing' | 'systems' | 'runs'> | undefined> {
  const withTodo = <T extends Pick<SystemShown, 'code' | 'since'>>(one: T) => {
    return { ...one, since: `${one.since.replace(' ', 'T')}Z`, todo: todoOf(one.code) }
  }
  try {
    const { store, profile } = source
    const [sources, systems, runs, isDismissed] = await Promise.all([
      readSourceHealth(source),
      readOpenSystems(store, profile),
      readOpenRuns(store, profile),
      readDismissed(store),
    ])
    return {
      failing: sources
        .filter(({ state }) => state === 'failing')
        .map(withTodo)
        .filter(
          ({ name, since }) => !isDismissed({ key: `source:${name}`, since: new Date(since) }),
        ),
      systems: showSystems(systems).map(withTodo),
      runs: runs.slice(0, runsMax).map(withTodo),
    }
  } catch (error) {
    if (passingFault(error) === undefined) throw error
    return undefined
  }
}
