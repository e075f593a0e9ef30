import type { Statement } from '../store/clickhouse.js'
import { onceSettings, stagingOf } from '../store/staging.js'

/**
 * Brings the rows of the repeated hour into `reads`: of a meter's rows with one timestamp the first
 * in the file is daylight time, every later one standard time (decision 15); a rejected row holds
 * its place among them. One block under one token, so that it counts once however often it runs.
 */
export function resolveRepeats(arrival: number): Statement {
  const { reads, repeats, held, stamps } = stagingOf(arrival)
  return {
    sql: `INSERT INTO ${reads}
  (meter_id, commodity, starts_at, seconds, local_day, local_hour, quantity,
   account_number, external_site_id, version)
WITH
  (SELECT groupArray((starts_at, second_at, second_day, second_hour))
   FROM (SELECT * FROM ${stamps} FINAL WHERE second_at != 0 ORDER BY text)) AS stamps,
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
  SELECT meter_id, starts_at, min(version) AS held_by FROM ${held} GROUP BY meter_id, starts_at
) AS h USING (meter_id, starts_at)`,
    settings: onceSettings(`repeats-${arrival}`),
  }
}
