import { createInterface } from 'node:readline'
import type { Rig } from '../../rig.js'
import type { SentFile } from '../actors/feeder.js'

interface Wanted {
  /** Any file of the family whose meters and days are looked at. */
  readonly first: SentFile
  readonly view: string
  readonly columns: readonly string[]
}

/** Rows of a view, ordered by meter and start: these two as one key, then the columns. */
export async function* lines(
  rig: Rig,
  { first, view, columns }: Wanted,
): AsyncGenerator<readonly [string, ...string[]]> {
  const { meters, firstDay, days } = first.usage
  const stream = await rig.store.stream(
    {
      sql: `SELECT meter_id, toUnixTimestamp(starts_at), ${columns.join(', ')} FROM ${view}
        WHERE local_day BETWEEN {first:Date} - 1 AND {first:Date} + {days:UInt16}
          AND meter_id BETWEEN {from:String} AND {to:String}
        ORDER BY meter_id, starts_at`,
      parameters: { first: firstDay, days, from: meters[0]?.meterId, to: meters.at(-1)?.meterId },
    },
    'TabSeparated',
  )
  for await (const line of createInterface({ input: stream })) {
    const [meter, start, ...rest] = line.split('\t')
    yield [`${meter}\t${start}`, ...rest]
  }
}
