import type { Commodity } from '../../schemas/feed.js'
import { formatQuantity } from '../../schemas/quantity.js'
import { lengthsOf } from '../../schemas/settings/profile.js'
import type { PipelineContext } from '../context.js'
import { learnStarts } from '../customers/registrations.js'
import type { Intake, Kind, LoadTask, Opened } from '../kind.js'
import type { ChunkReceipt } from '../ledger/ledger.js'
import type { Statement } from '../store/clickhouse.js'
import { id, sql } from '../store/sql.js'
import {
  attach,
  countLines,
  countRows,
  createStaging,
  detach,
  emptyStaging,
  freeMerges,
  holdMerges,
  onceSettings,
  stagingOf,
} from '../store/staging.js'
import { keepStamps, loadInBulk, loadUnseenInBulk } from './bulk-path.js'
import { totalShapes } from './irregular-meters.js'
import { measure } from './measure.js'
import { type Counted, recordRestatements } from './overlap.js'
import { reconcileUsage } from './reconcile.js'
import { loadRowByRow } from './row-path.js'
import { rulesOf, type Sample, sampleFile } from './sample.js'
import { createStampTexts, explainStamp, type StampTexts } from './timestamps.js'

/** Reads of meters: millions of rows, which the engine judges. */
export const usageKind: Kind = {
  createStaging: (store, { arrival }) => createStaging(store, arrival),
  emptyStaging: (store, { arrival }) => emptyStaging(store, arrival),
  open,
  load: loadUsage,
  sumStaged: async ({ store }, { arrival, manifest }) => {
    const { reads, repeats } = stagingOf(arrival)
    const repeated = await countRows(store, repeats)
    if (repeated > 0) await store.command(resolveRepeats(arrival))
    const shapes = await totalShapes(store, reads, manifest.seconds)
    return { rows: shapes.rows, quantity: shapes.quantity, shapes, repeated }
  },
  reconcile: async (line, files) => Promise.all(files.map((file) => reconcileUsage(line, file))),
  attach: async ({ store }, state) => {
    if (state.restates) {
      await store.command(recordRestatements(state.arrival))
      await store.command(holdMerges)
    }
    await attach(store, 'usage_read', state.attaches)
  },
  detach: async ({ store }, { arrival }) => {
    for (const statement of detach(arrival)) await store.command(statement)
  },
  release: async ({ store }, state) => {
    if (state.restates) await store.command(freeMerges)
  },
  learn: (line, state) => learnStarts(line, state.arrival),
  recount: () => (bytes) => {
    const { micros, ...counted } = measure(bytes, unseen)
    return { ...counted, micros: micros.toString() }
  },
}

const unseen: StampTexts = { see: () => undefined, hadRepeats: () => false, fresh: () => [] }

function open(context: PipelineContext, { arrival, feed, head }: Opened): Intake {
  const { usage } = context.profile
  let sample: Sample | undefined
  const reading = () => {
    const lengths = lengthsOf(context.profile, feed as Commodity)
    sample ??= sampleFile(head(), { ...usage, zone: context.zone }, lengths)
    return sample
  }
  let texts: StampTexts | undefined
  const stamps = () => {
    const rules = rulesOf(context, { feed, ...reading() })
    texts ??= createStampTexts((text) => explainStamp(text, rules))
    return texts
  }
  return {
    reading,
    measure: (bytes) => {
      const { micros, ...measured } = measure(bytes, stamps())
      return { ...measured, micros: micros.toString(), repeats: stamps().hadRepeats() }
    },
    prepare: () => keepStamps(context.store, arrival, stamps().fresh()),
  }
}

/**
 * Brings the good rows of a chunk into staging and writes down the others. The engine stores the
 * clearly valid rows in one statement, in a second one those with timestamps that the bytes had not
 * shown; what it leaves is judged row by row.
 */
async function loadUsage(context: PipelineContext, task: LoadTask): Promise<ChunkReceipt> {
  const { chunk } = task
  const reader = await loadInBulk(context, task)
  let plain = await count(context, task)
  if (plain.rows < chunk.rows && reader !== undefined) {
    if (await loadUnseenInBulk(context, task, reader)) plain = await count(context, task)
  }
  const odd = plain.rows === chunk.rows ? undefined : await loadRowByRow(context, task, reader)
  const stored = odd === undefined || odd.accepted === 0 ? plain : await count(context, task)
  return {
    chunk: chunk.chunk,
    rowsRead: stored.rows + (odd?.rejected ?? 0),
    rowsAccepted: stored.rows,
    rowsRejected: odd?.rejected ?? 0,
    quantityAccepted: stored.quantity,
    quantityRejected: formatQuantity(odd?.rejectedMicros ?? 0n),
  }
}

async function count(context: PipelineContext, { arrival, chunk }: LoadTask): Promise<Counted> {
  const statement = countLines(arrival, chunk.line, chunk.lines)
  const [counted] = await context.store.rows<{ rows: string; quantity: string }>(statement)
  return { rows: Number(counted?.rows ?? 0), quantity: counted?.quantity ?? '0' }
}

/**
 * Brings the rows of the repeated hour into `reads`: of a meter's rows with one timestamp the first
 * in the file is daylight time, every later one standard time (decision 15); a rejected row holds
 * its place among them. One block under one token, so that it counts once however often it runs.
 */
function resolveRepeats(arrival: number): Statement {
  const staging = stagingOf(arrival)
  const [reads, repeats] = [id(staging.reads), id(staging.repeats)]
  return {
    sql: sql`INSERT INTO ${reads}
  (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
   account_number, external_site_id, version)
WITH
  (SELECT groupArray((starts_at, second_at, second_day, second_hour))
   FROM (SELECT * FROM ${id(staging.stamps)} FINAL WHERE second_at != 0 ORDER BY text)) AS stamps,
  indexOf(stamps.1, toUnixTimestamp(starts_at)) AS stamp,
  number > 1 OR (held_by != 0 AND held_by < version) AS again
SELECT meter_id, commodity, if(again, stamps.2[stamp], toUnixTimestamp(starts_at)), seconds,
  if(again, stamps.3[stamp], local_day), if(again, stamps.4[stamp], local_hour), quantity,
  account_number, external_site_id, version
FROM (
  SELECT *, row_number() OVER (PARTITION BY meter_id, starts_at ORDER BY version) AS number
  FROM ${repeats}
) AS r
LEFT ANY JOIN (
  SELECT meter_id, starts_at, min(version) AS held_by FROM ${id(staging.held)} GROUP BY meter_id, starts_at
) AS h USING (meter_id, starts_at)`,
    settings: onceSettings(`repeats-${arrival}`),
  }
}
