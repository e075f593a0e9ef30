import type { Store } from '../../pipeline/stores/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import { parseTotal } from '../../schemas/quantity.js'
import type { SentFile } from './feeder.js'

/** What one query shows of a family of files: rows and energy by the file that they came in. */
export interface Sight {
  readonly fileId: string
  readonly rows: number
  readonly micros: bigint
}

/** One query over the published view; undefined while the store does not answer. */
export async function look(store: Store, file: SentFile): Promise<readonly Sight[] | undefined> {
  const { meters, firstDay, days } = file.usage
  try {
    const rows = await store.rows<{ file_id: string; rows: string; quantity: string }>({
      sql: `SELECT file_id, count() AS rows, toString(sum(quantity)) AS quantity FROM usage
        WHERE local_day BETWEEN {first:Date} AND {first:Date} + {days:UInt16}
          AND meter_id BETWEEN {from:String} AND {to:String}
        GROUP BY file_id`,
      parameters: {
        first: firstDay,
        days,
        from: meters[0]?.meterId,
        to: meters.at(-1)?.meterId,
      },
    })
    return rows.map((row) => ({
      fileId: row.file_id,
      rows: Number(row.rows),
      micros: parseTotal(row.quantity) ?? 0n,
    }))
  } catch (error) {
    if (error instanceof Fault && error.retry) return undefined
    throw error
  }
}

/**
 * What a sight shows: nothing of the family, the rows and energy of exactly one of its files, or
 * something that must never be seen. A row that a correction repeats unchanged stays with the file
 * that it first came in.
 */
export function judge(
  sights: readonly Sight[],
  family: readonly SentFile[],
): 'nothing' | SentFile | 'partly' {
  if (sights.length === 0) return 'nothing'
  const isOurs = sights.every((one) => family.some((file) => file.fileId === one.fileId))
  const rows = sights.reduce((sum, one) => sum + one.rows, 0)
  const micros = sights.reduce((sum, one) => sum + one.micros, 0n)
  const whole = family.find((file) => file.rowsGood === rows && file.tally.quantityMicro === micros)
  return isOurs && whole !== undefined ? whole : 'partly'
}

export function describe(sights: readonly Sight[], family: readonly SentFile[]): string {
  const shown = sights.map(
    (one) => `${one.rows} rows, ${one.micros} micros of ${one.fileId.slice(0, 8) || 'no file'}`,
  )
  const due = family.map(
    (one) =>
      `${one.name} (${one.fileId.slice(0, 8)}) ${one.rowsGood} rows, ${one.tally.quantityMicro}`,
  )
  return `seen ${shown.join(', ') || 'nothing'}; the family is ${due.join(', ')}`
}
