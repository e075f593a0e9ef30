import { Fault } from '../../../schemas/fault.js'
import { rejectCodes } from '../../../schemas/usage-row.js'
import type { PipelineContext } from '../../context.js'
import type { RepeatedHour } from '../../kind.js'
import type { FileState } from '../../ledger/file-state.js'
import type { Statement, Store } from '../../store/clickhouse.js'
import { id, sql } from '../../store/sql.js'
import { type Decision, derivedOf, onceSettings, stagingOf } from '../../store/staging.js'
import { lineBounds, within } from '../../store/versions.js'
import { rejectLines } from '../reject-lines.js'

/** The hours of rows as `chooseHours` has them. */
export function createChoices(decision: Decision): Statement {
  return {
    sql: sql`CREATE TABLE ${id(derivedOf(decision).choices)}
      (version UInt64, second Bool, ambiguous Bool, rejected Bool)
      ENGINE = MergeTree ORDER BY version`,
  }
}

/** Copies the rows of the repeated hour into a table of the decision's own. */
export async function keepHour(store: Store, decision: Decision): Promise<void> {
  const { repeats } = stagingOf(decision.arrival)
  await store.command({
    sql: sql`CREATE TABLE ${id(derivedOf(decision).hour)} ENGINE = MergeTree ORDER BY (meter_id, version) AS
      SELECT * FROM ${id(repeats)}`,
  })
}

/**
 * Throws `STAGING_LOST` where the server of these rows lacks the meaning of a timestamp of theirs: another one has
 * taken it.
 */
export async function proveHour(store: Store, decision: Decision): Promise<void> {
  const { timestamps } = stagingOf(decision.arrival)
  const [found] = await store.rows<{ unknown: string }>({
    sql: sql`SELECT countIf(toUnixTimestamp(starts_at) NOT IN (
          SELECT starts_at FROM ${id(timestamps)} WHERE second_at != 0)) AS unknown
      FROM ${id(derivedOf(decision).hour)}`,
  })
  if (Number(found?.unknown) === 0) return
  throw new Fault('STAGING_LOST', `timestamps of arrival ${decision.arrival}`)
}

/** The rows whose hour nothing proves, and those of them that are not usable. */
export async function countChoices(
  { store }: PipelineContext,
  decision: Decision,
): Promise<Omit<RepeatedHour, 'rows'>> {
  const { hour, choices } = derivedOf(decision)
  const [found] = await store.rows<{ ambiguous: string; rejected: string; quantity: string }>({
    sql: sql`SELECT countIf(c.ambiguous) AS ambiguous, countIf(c.rejected) AS rejected,
        toString(sumIf(r.quantity, c.rejected)) AS quantity
      FROM ${id(hour)} AS r INNER JOIN ${id(choices)} AS c ON c.version = r.version`,
  })
  const rejected = { rows: Number(found?.rejected ?? 0), quantity: found?.quantity ?? '0' }
  return { ambiguous: Number(found?.ambiguous ?? 0), rejected }
}

/**
 * Of a meter's rows with one timestamp the first in the file is daylight time, every later one standard
 * time, unless `choices` says otherwise; a rejected row holds its place among them. No load reads them there: what
 * another decision has chosen has no part in this one.
 */
export function resolveRepeats(decision: Decision): Statement {
  const { timestamps } = stagingOf(decision.arrival)
  const { whole, hour, held, choices } = derivedOf(decision)
  return {
    sql: sql`INSERT INTO ${id(whole)}
  (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
   account_number, external_site_id, version, quality, yields)
WITH
  (SELECT groupArray((starts_at, second_at, second_day, second_hour))
   FROM (SELECT * FROM ${id(timestamps)} FINAL WHERE second_at != 0 ORDER BY text)) AS timestamps,
  indexOf(timestamps.1, toUnixTimestamp(starts_at)) AS timestamp,
  if(c.version != 0, c.second, number > 1 OR (held_by != 0 AND held_by < r.version)) AS again
SELECT meter_id, commodity, if(again, timestamps.2[timestamp], toUnixTimestamp(starts_at)), seconds,
  if(again, timestamps.3[timestamp], local_day), if(again, timestamps.4[timestamp], local_hour), quantity,
  account_number, external_site_id, r.version, quality, yields
FROM (
  SELECT *, row_number() OVER (PARTITION BY meter_id, starts_at ORDER BY version) AS number
  FROM ${id(hour)}
) AS r
LEFT ANY JOIN (
  SELECT meter_id, starts_at, min(version) AS held_by FROM ${id(held)} GROUP BY meter_id, starts_at
) AS h USING (meter_id, starts_at)
LEFT ANY JOIN ${id(choices)} AS c ON c.version = r.version
WHERE NOT c.rejected`,
    settings: onceSettings(`repeats-${whole}`),
  }
}

/** Writes down the rows whose hour is ambiguous and not free. */
export async function rejectAmbiguous(context: PipelineContext, state: FileState): Promise<void> {
  const { arrival } = state
  const { hour, choices } = derivedOf(state)
  const { detail } = rejectCodes.AMBIGUOUS_TIME
  await rejectLines(context, state, async (line, lines) => {
    const bounds = lineBounds({ arrival, line, lines })
    const rows = await context.store.rows<{ line: number; quantity: string }>({
      sql: sql`SELECT toUInt32(bitAnd(version, 4294967295)) AS line, toString(quantity) AS quantity
        FROM ${id(hour)}
        WHERE ${within(sql`version`, bounds)}
          AND version IN (SELECT version FROM ${id(choices)} WHERE rejected)`,
    })
    return rows.map((row) => ({ ...row, code: 'AMBIGUOUS_TIME', detail }))
  })
}
