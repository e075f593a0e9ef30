import { type FeedName, feeds } from '../../../schemas/feed.js'
import { repeatedPlaceOf } from '../../../schemas/usage-row.js'
import type { PipelineContext } from '../../context.js'
import { parseRow } from '../../files/csv.js'
import type { FileState } from '../../ledger/file-state.js'
import { id, literal, sql } from '../../store/sql.js'
import { derivedOf } from '../../store/staging.js'
import { versionOf } from '../../store/versions.js'
import { rawCharactersMax } from '../row-path.js'
import { rulesOf } from '../sample.js'
import { rememberTimestamps } from '../timestamps.js'

/** Rejected rows that are looked at together. */
const batchRows = 10_000

/**
 * Writes down the places in the repeated hour that rejected rows of a file hold. They are found by the rejected
 * rows as the ledger has them, on every server: of a table that a load fills, nothing would show that a
 * place is missing.
 */
export async function keepHeld(context: PipelineContext, state: FileState): Promise<void> {
  const { store } = context
  const { arrival, manifest } = state
  const feed = state.feed as FeedName
  const { hour, held } = derivedOf(state)
  await store.command({
    sql: sql`CREATE TABLE ${id(held)} (meter_id String, starts_at DateTime('UTC'), version UInt64)
      ENGINE = MergeTree ORDER BY (meter_id, starts_at)`,
  })
  const read = rememberTimestamps(rulesOf(context, { ...manifest, feed }))
  const { extraColumns = 0 } = manifest
  const columns = { own: feeds[feed].columns.length, extra: extraColumns }
  for (let last = 0; ; ) {
    // An earlier decision may have rejected rows of the hour for their timestamp.
    const rejects = await store.rows<{ line: number; raw: string }>({
      sql: sql`SELECT line, any(raw) AS raw FROM reject WHERE arrival = ${arrival} AND line > ${last}
          AND line NOT IN (SELECT bitAnd(version, 4294967295) FROM ${id(hour)})
        GROUP BY line ORDER BY line LIMIT ${literal(batchRows)}`,
    })
    const places = rejects.flatMap(({ line, raw }) => {
      const place = repeatedPlaceOf(columnsOf(raw, columns), read, extraColumns)
      if (place === undefined) return []
      const version = versionOf(arrival, line).toString()
      return [{ meter_id: place.meterId, starts_at: place.start, version }]
    })
    if (places.length > 0) await store.insert(held, places)
    if (rejects.length < batchRows) return
    last = rejects.at(-1)?.line ?? 0
  }
}

interface Columns {
  readonly own: number
  readonly extra: number
}

/** The columns of a rejected row. What is cut off behind the last but one of its own counts as there. */
function columnsOf(raw: string, { own, extra }: Columns): readonly string[] {
  const fields = parseRow(raw) ?? []
  // The last character goes too where it would be half of one.
  const isCut = raw.length >= rawCharactersMax - 1
  if (!isCut || fields.length < own) return fields
  return Array.from({ length: own + extra }, (_, at) => fields[at] ?? '')
}
