import { Fault } from '../../../schemas/fault.js'
import { skimFileName } from '../../../schemas/file-name.js'
import { lengthsOf, timesOf } from '../../../schemas/settings/profile.js'
import type { PipelineContext } from '../../context.js'
import { pushSource } from '../../intake/arrive.js'
import type { RepeatedHour } from '../../kind.js'
import type { FileState } from '../../ledger/file-state.js'
import { noneCounted } from '../../ledger/sums.js'
import { sql } from '../../store/sql.js'
import { derivedOf } from '../../store/staging.js'
import { gridOf } from '../irregular-meters.js'
import { withNamed } from '../lengths/suspects.js'
import { countChoices, createChoices, keepHour, proveHour, resolveRepeats } from './choices.js'
import { keepHeld } from './held.js'
import { lengthsOfNights } from './lengths.js'
import {
  changesOf,
  findNights,
  type MeterNight,
  type NightSearch,
  type StagedHour,
  storedNights,
} from './nights.js'
import { chooseHours, type Night, needsStore } from './rule.js'

/** Rows of the repeated hour that are looked at together. */
const batchRows = 200_000
/** Meters that are judged without a pause, for about a second: jobs must renew their locks. */
const metersAtOnce = 10_000

/**
 * Brings `rows` rows of the repeated hour into `whole`, except those that are not usable. Where the order of
 * a file does not decide, `choices` does.
 */
export async function settleRepeatedHour(
  context: PipelineContext,
  state: FileState,
  rows: number,
): Promise<RepeatedHour> {
  const { store, zone, profile } = context
  const { arrival, decision, manifest, feed, notes } = state
  if (rows === 0) return { rows, ambiguous: 0, rejected: noneCounted }
  await keepHour(store, state)
  await keepHeld(context, state)
  await store.command(createChoices(state))
  const longest = Math.max(...lengthsOf(profile, feed, manifest))
  const { stamp } = timesOf(profile, manifest)
  const { seconds } = manifest
  const { repairs } = notes
  const staged: StagedHour = { arrival, decision, repairs, zone, stamp, seconds, longest }
  const batches = Math.ceil(rows / batchRows)
  const arrivedAt = await arrivalOf(context, state)
  for (const change of await changesOf(store, staged)) {
    for (let batch = 0; batch < batches; batch++) {
      const search = { change, all: arrivedAt !== undefined, batch, batches }
      await chooseBatch({ context, state, staged, arrivedAt }, search)
    }
  }
  await proveHour(store, state)
  await store.command(resolveRepeats(state))
  return { rows, ...(await countChoices(context, state)) }
}

/** When pushed rows were here at the latest, epoch seconds; a file may be of any time. */
async function arrivalOf(
  { ledger }: PipelineContext,
  { arrival, notes }: FileState,
): Promise<number | undefined> {
  const first = await ledger.arrival(notes.repairs ?? arrival)
  if (first?.source !== pushSource) return undefined
  return Math.floor(first.arrivedAt.getTime() / 1_000)
}

interface Judging {
  readonly context: PipelineContext
  readonly state: FileState
  readonly staged: StagedHour
  readonly arrivedAt: number | undefined
}

async function chooseBatch(judging: Judging, search: NightSearch): Promise<void> {
  const { context, staged } = judging
  const found = await findNights(context.store, staged, search)
  for (let from = 0; from < found.length; from += metersAtOnce) {
    const nights = await describeNights(judging, search, found.slice(from, from + metersAtOnce))
    const rows = nights.flatMap(chooseHours).map(({ version, hour, isAmbiguous, isRejected }) => ({
      version,
      second: hour === 'standard',
      ambiguous: isAmbiguous,
      rejected: isRejected,
    }))
    if (rows.length > 0) await context.store.insert(derivedOf(staged).choices, rows)
  }
}

/** The nights of meters, with their lengths and, where these are needed, the stored reads. */
function describeNights(
  judging: Judging,
  search: NightSearch,
  found: readonly MeterNight[],
): Promise<readonly Night[]> {
  const { context, staged: decision } = judging
  const meterIds = found.map(({ meterId }) => meterId)
  return withNamed(context.store, { decision, meterIds }, (named) =>
    describeNamed(judging, { ...search, named }, found),
  )
}

async function describeNamed(
  { context, state, staged, arrivedAt }: Judging,
  { change, named }: NightSearch & { readonly named: string },
  found: readonly MeterNight[],
): Promise<readonly Night[]> {
  const { store, profile } = context
  const grid = gridOf(profile, state.manifest)
  const allowed = lengthsOf(profile, state.feed, state.manifest)
  const lengths = await lengthsOfNights(store, { staged, grid, allowed, change, named }, found)
  const common = { change, arrivedAt, stamp: staged.stamp }
  const nights = found.map(({ meterId, rows }) => {
    const length = lengths.get(meterId) as number
    return { ...common, meterId, length, rows, stored: new Map(), last: undefined }
  })
  if (!nights.some(needsStore)) return nights
  await waitForEarlier(context, state)
  const stored = await storedNights(store, staged, { change, named })
  return nights.map((night) => {
    const reads = (stored.get(night.meterId) ?? []).filter((one) => one.seconds === night.length)
    const earlier = reads.filter(({ isEarlier }) => isEarlier).map(({ at }) => at)
    return {
      ...night,
      stored: new Map(reads.map(({ at, print }) => [at, print])),
      last: earlier.length === 0 ? undefined : Math.max(...earlier),
    }
  })
}

/**
 * The stored reads prove nothing while an earlier delivery of the same source is still on its way. Where it is
 * staged says nothing: that may be on another server.
 */
async function waitForEarlier(
  { store, profile, isTrial = false }: PipelineContext,
  { arrival, source, feed }: FileState,
): Promise<void> {
  if (isTrial) return
  const rows = await store.rows<{ arrival: number; name: string }>({
    sql: sql`SELECT arrival, name FROM arrival
      WHERE arrival < ${arrival} AND source = ${source}
        AND arrival NOT IN (SELECT arrival FROM file_state FINAL WHERE status != 'received')
      ORDER BY arrival`,
  })
  const ahead = rows.find(({ name }) => skimFileName(name, profile)?.feed === feed)
  if (ahead === undefined) return
  throw new Fault('FILE_AHEAD', `arrival ${arrival} waits for arrival ${ahead.arrival}`)
}
