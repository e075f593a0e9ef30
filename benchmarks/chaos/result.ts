import { grouped } from '../../infra/commands/output/table.js'
import type { SentFile } from './actors/feeder.js'
import { type Killer, type Target, targets } from './actors/killer.js'
import type { Comparison } from './compare/compare.js'

export interface ChaosResult {
  readonly seed: number
  readonly kills: Readonly<Record<Target, number>>
  readonly flushes: number
  /** Connections to servers that files are pulled from that were cut. */
  readonly cuts: number
  /** How often a replica was kept behind; undefined on one server. */
  readonly lags: number | undefined
  /** Kills by the moment at which they fell. */
  readonly moments: Readonly<Record<string, number>>
  /** Kills of the worker after which the ledger still showed the step that was aimed at. */
  readonly killsProven: number
  readonly files: number
  readonly rows: number
  /** Reads that were corrected, or that a later file had corrected, and rows that repeated one. */
  readonly corrections: number
  readonly late: number
  readonly repeats: number
  /** Customers who registered, and how often they called. */
  readonly customers: number
  readonly calls: number
  readonly seconds: number
  /** Queries of the readers. */
  readonly looks: number
  readonly rowsLost: number
  readonly rowsDoubled: number
  readonly rowsAltered: number
  readonly restatementsMissing: number
  readonly restatementsExtra: number
  readonly registeredPartlyVisible: number
  readonly ownersWrong: number
  readonly tenanciesWrong: number
  readonly filesPartlyVisible: number
  readonly acknowledgedNotInStore: number
  readonly filesUnfinished: number
  readonly filesUnbalanced: number
  /** What went wrong, in words; at most a few of each kind. */
  readonly wrongs: readonly string[]
  readonly isGood: boolean
}

export interface ChaosFindings {
  readonly seed: number
  readonly seconds: number
  readonly looks: number
  readonly flushes: number
  readonly cuts: number
  readonly lags: number | undefined
  readonly wrongs: readonly string[]
  readonly ownWrongs: readonly string[]
  readonly missing: readonly string[]
  readonly customers: number
  readonly calls: number
  readonly killer: Killer
  readonly files: readonly SentFile[]
  readonly comparison: Comparison
}

const wrongsMax = 5

export function toResult(gathered: ChaosFindings): ChaosResult {
  const { killer, files, comparison, wrongs, ownWrongs, missing } = gathered
  const moments: Record<string, number> = {}
  for (const { moment } of killer.kills) moments[moment] = (moments[moment] ?? 0) + 1
  const count = (target: Target) => killer.kills.filter((kill) => kill.target === target).length
  const counts = {
    rowsLost: comparison.rowsLost,
    rowsDoubled: comparison.rowsDoubled,
    rowsAltered: comparison.rowsAltered,
    restatementsMissing: comparison.restatementsMissing,
    restatementsExtra: comparison.restatementsExtra,
    registeredPartlyVisible: ownWrongs.length,
    ownersWrong: comparison.ownersWrong,
    tenanciesWrong: comparison.tenanciesWrong.length,
    filesPartlyVisible: wrongs.length,
    acknowledgedNotInStore: missing.length,
    filesUnfinished: comparison.filesUnfinished.length,
    filesUnbalanced: comparison.filesUnbalanced.length,
  }
  const { filesUnfinished, filesUnbalanced, tenanciesWrong } = comparison
  const kinds = [wrongs, ownWrongs, missing, filesUnfinished, filesUnbalanced, tenanciesWrong]
  return {
    seed: gathered.seed,
    kills: Object.fromEntries(
      targets.map((target) => [target, count(target)]),
    ) as ChaosResult['kills'],
    flushes: gathered.flushes,
    cuts: gathered.cuts,
    lags: gathered.lags,
    moments,
    killsProven: killer.kills.filter((kill) => kill.isProven).length,
    files: files.length,
    rows: files.reduce((sum, file) => sum + file.read.rows, 0),
    corrections: comparison.corrections,
    late: comparison.late,
    repeats: comparison.repeats,
    customers: gathered.customers,
    calls: gathered.calls,
    seconds: gathered.seconds,
    looks: gathered.looks,
    ...counts,
    wrongs: kinds.flatMap((kind) => kind.slice(0, wrongsMax)),
    isGood: Object.values(counts).every((value) => value === 0),
  }
}

/** The result for people; the line of zeros is the one that counts. */
export function renderResult(result: ChaosResult): readonly string[] {
  const kills = targets.map((target) => `${target} ${result.kills[target]}`).join(', ')
  const moments = Object.entries(result.moments).map(([moment, count]) => `${moment} ${count}`)
  return [
    `seed ${result.seed}; kills: ${kills}; Redis emptied ${result.flushes} times; ${result.cuts} connections cut`,
    ...(result.lags === undefined
      ? []
      : [
          `on two replicas, kept behind ${result.lags} times; instead of a kill of ClickHouse the client fails over`,
        ]),
    `killed ${moments.join(', ')}; ${result.killsProven} of the worker's in a step that the ledger still showed`,
    `${result.files} files, ${grouped(result.rows)} rows, ${grouped(result.looks)} queries of readers, ${result.seconds.toFixed(0)} seconds`,
    `${grouped(result.corrections)} reads corrected, ${grouped(result.late)} too late, ${grouped(result.repeats)} repeated; ${result.customers} customers, ${grouped(result.calls)} calls to register`,
    `rows altered ${result.rowsAltered}, files with other counts or energy than written ${result.filesUnbalanced}`,
    ...result.wrongs.map((wrong) => `  ${wrong}`),
    `restatements missing ${result.restatementsMissing}, beyond the corrections ${result.restatementsExtra}`,
    `meters with wrong tenancies ${result.tenanciesWrong}, reads of others or of nobody ${result.ownersWrong}, registered meters partly visible ${result.registeredPartlyVisible}`,
    `rows lost ${result.rowsLost}, doubled ${result.rowsDoubled}, files partly visible ${result.filesPartlyVisible}, acknowledged files not in the store ${result.acknowledgedNotInStore}, unfinished files ${result.filesUnfinished}`,
  ]
}
