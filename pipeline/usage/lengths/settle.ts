import { lengthsOf, timesOf } from '../../../schemas/settings/profile.js'
import { isDayFormat } from '../../../schemas/time/timestamp.js'
import { daySeconds, wallSeconds } from '../../../schemas/time/zone.js'
import { rejectCodes } from '../../../schemas/usage-row.js'
import type { PipelineContext } from '../../context.js'
import type { FileState } from '../../ledger/file-state.js'
import { type Decision, derivedOf } from '../../store/staging.js'
import { gridOf, type StagingTotals } from '../irregular-meters.js'
import { rejectLines } from '../reject-lines.js'
import { toLength } from '../sample.js'
import { judgeMeter, type LengthRules, type StoredLength } from './judge.js'
import { noteProvisional, type Provisional } from './provisional.js'
import {
  type Closest,
  closestOfUnusable,
  countUnusable,
  createRepairs,
  meterDayKey,
  type Repair,
  recordRepairs,
  refuseAll,
  type Unusable,
  unusableLines,
} from './repairs.js'
import { lengthsSince } from './since.js'
import { findSuspects, type Search, type Suspect, storedLengths } from './suspects.js'

/** What a file shows of the lengths of its meters (decision 16). */
export interface FoundLengths {
  /** Rows of a meter and day that do not have the length of the sample. */
  readonly repairs: number
  /** Meters whose length neither stored reads nor rows in succession prove. */
  readonly provisional: number
  /** Those of which the file proves no day. */
  readonly unproved: number
}

const noLengths: FoundLengths = { repairs: 0, provisional: 0, unproved: 0 }

/** What is looked for in a file. */
export interface LengthsOf {
  readonly totals: StagingTotals
  /** Called with each meter whose length is provisional. */
  readonly onProvisional?: (meterId: string) => void
}

/** Rows of suspects that are in memory at once. */
const batchRowsMax = 2_000_000

/**
 * Finds the rows whose length is another than that of the sample and records them as repairs. Meters
 * whose shape proves the length of the sample are not looked at.
 */
export async function findLengths(
  context: PipelineContext,
  state: FileState,
  { totals, onProvisional }: LengthsOf,
): Promise<FoundLengths> {
  const { store, profile } = context
  const { seconds, format, stated } = state.manifest
  const { arrival, decision } = state
  if (stated === true) return noLengths
  const allowed = lengthsOf(profile, state.feed, state.manifest)
  const grid = gridOf(profile, state.manifest)
  const isDaily = format !== null && isDayFormat(format)
  if (isDaily && allowed.includes(daySeconds)) return noLengths
  const byShape = seconds !== daySeconds && allowed.includes(seconds)
  if (byShape && totals.irregularMeters === 0) return noLengths
  await createRepairs(store, state)
  if (isDaily) {
    await refuseAll(store, { arrival, decision, grid })
    return { ...noLengths, repairs: totals.rows }
  }
  const { whole: table } = derivedOf(state)
  const rows = byShape ? totals.irregularRows : totals.rows
  const batches = Math.ceil(rows / batchRowsMax)
  const since =
    state.notes.repairs === undefined ? undefined : await lengthsSince(store, state.notes.repairs)
  let [repairs, unproved] = [0, 0]
  const provisional: Provisional[] = []
  for (let batch = 0; batch < batches; batch++) {
    const of = byShape ? ('irregular' as const) : ('all' as const)
    const search = { table, grid, allowed, of, batch, batches, since }
    const found = await judgeBatch(context, state, search)
    await recordRepairs(store, state, found.repairs)
    repairs += found.repairs.length
    unproved += found.unproved
    provisional.push(...found.provisional)
  }
  await noteProvisional(store, state, provisional)
  const meters = new Set(provisional.map(({ meterId }) => meterId))
  for (const meterId of meters) onProvisional?.(meterId)
  return { repairs, provisional: meters.size, unproved }
}

interface JudgedLengths {
  readonly repairs: readonly Repair[]
  readonly provisional: readonly Provisional[]
  readonly unproved: number
}

async function judgeBatch(
  context: PipelineContext,
  { manifest, notes, ...decision }: Decision & Pick<FileState, 'manifest' | 'notes'>,
  search: Search & { readonly since: Awaited<ReturnType<typeof lengthsSince>> | undefined },
): Promise<JudgedLengths> {
  const { store } = context
  const suspects = await findSuspects(store, decision, search)
  const deciding = { ...decision, repairs: notes.repairs }
  const stored = await storedLengths(store, deciding, suspects)
  const { allowed } = search
  const { zone, profile } = context
  const atEnd = timesOf(profile, manifest).stamp === 'end'
  const isDay = await likeStoredDays(context, [...stored.values()].flat())
  const rules = { allowed, zone, seconds: search.grid.seconds, atEnd, isDay }
  const judged = suspects.map(({ meterId, days }: Suspect) => ({
    meterId,
    lengths: judgeMeter(days, stored.get(meterId) ?? [], rules).map((found) => {
      const kept = search.since?.get(meterDayKey(meterId, found.day))
      return kept === undefined ? found : { ...found, ...kept, apart: 0, stored: 0 }
    }),
  }))
  const repairs = judged.flatMap(({ meterId, lengths }) =>
    lengths
      .filter(({ seconds }) => seconds !== search.grid.seconds)
      .map(({ day, seconds, isProvisional, apart, stored }) => {
        return { meterId, day, seconds, isGuessed: isProvisional, apart, stored }
      }),
  )
  const provisional = judged.flatMap(({ meterId, lengths }) =>
    lengths
      .filter(({ isProvisional }) => isProvisional)
      .map(({ day, seconds }) => ({ meterId, day, seconds })),
  )
  const unproved = judged.filter(({ lengths }) => lengths.every((one) => one.isProvisional)).length
  return { repairs, provisional, unproved }
}

/**
 * A row with a time is of a day like the stored ones if these came with a time too: where that is when the day
 * starts, with the same one. Stored reads do not show times at the end any more.
 */
async function likeStoredDays(
  { ledger, profile, zone }: PipelineContext,
  stored: readonly StoredLength[],
): Promise<LengthRules['isDay']> {
  const days = stored.filter((one) => one.seconds === daySeconds && !one.isProvisional)
  const arrivals = [...new Set(days.map(({ arrival }) => arrival))]
  const files = arrivals.length === 0 ? [] : await ledger.states(arrivals)
  const manifests = new Map(files.map(({ arrival, manifest }) => [arrival, manifest]))
  const timeOf = (at: number) => wallSeconds(zone.toWall(at)) % daySeconds
  return (start, { arrival, startsAt }) => {
    const manifest = manifests.get(arrival)
    if (manifest === undefined) return true
    if (manifest.format !== null && isDayFormat(manifest.format)) return false
    return timesOf(profile, manifest).stamp === 'end' || timeOf(start) === timeOf(startsAt)
  }
}

/** Writes down the rows whose length is not usable, and counts them. */
export async function rejectLengths(
  context: PipelineContext,
  state: FileState,
  reland: () => Promise<void>,
): Promise<Unusable> {
  const { store, profile } = context
  const { arrival, decision } = state
  const staged = { arrival, decision, grid: gridOf(profile, state.manifest) }
  const counted = await countUnusable(store, staged)
  if (counted.rows === 0) return counted
  const closest = await closestOfUnusable(store, staged)
  const allowed = lengthsOf(profile, state.feed, state.manifest)
  await reland()
  await rejectLines(context, state, async (line, lines) => {
    const found = await store.rows<{
      line: number
      meter_id: string
      place: string
      quantity: string
    }>(unusableLines(staged, line, lines))
    return found.map(({ line, meter_id, place, quantity }) => {
      const detail = lengthDetail(meter_id, closest.get(meterDayKey(meter_id, place)), allowed)
      return { line, code: 'INTERVAL_LENGTH', detail, quantity }
    })
  })
  return counted
}

/**
 * Why no row of a meter is usable, for whoever corrects the file: one wrong time is enough to
 * bring two times so close that no length of the profile fits.
 */
function lengthDetail(
  meterId: string,
  { gap, lines: [line, next], stored }: Closest = { gap: 0, lines: [0, 0], stored: 0 },
  allowed: readonly number[],
): string {
  const named = allowed.map(spellLength).join(', ')
  const unfit = `${rejectCodes.INTERVAL_LENGTH.detail} (${named})`
  if (gap === 0) return `${unfit}: meter ${meterId} has one time only`
  const apart = `${unfit}: lines ${line} and ${next} of meter ${meterId} are ${spellLength(toLength(gap))} apart`
  return stored === 0
    ? `${apart}; fix a wrong time, or add the length to the profile`
    : `${apart}, but its stored reads are ${spellLength(stored)} long; send whole days to change the length, or fewer than three such rows in succession to correct reads`
}

function spellLength(seconds: number): string {
  if (seconds % daySeconds === 0)
    return seconds === daySeconds ? 'a day' : `${seconds / daySeconds} days`
  return seconds % 60 === 0 ? `${seconds / 60} minutes` : `${seconds} seconds`
}
