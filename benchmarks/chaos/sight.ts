import type { Store } from '../../pipeline/store/clickhouse.js'
import { Fault } from '../../schemas/fault.js'
import { parseTotal } from '../../schemas/quantity.js'
import type { SentFile } from './actors/feeder.js'
import { movedMeter } from './compare/sent-rows.js'
import type { RowSum } from './sums.js'

/** What one query shows of a family of files: rows and energy by the file that they came in. */
export interface Sight extends RowSum {
  readonly fileId: string
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

/** What one query shows of the registered meters of a family: rows and energy by meter. */
export async function lookRegistered(
  store: Store,
  file: SentFile,
): Promise<ReadonlyMap<string, RowSum> | undefined> {
  const meters = file.usage.meters.slice(0, movedMeter).map(({ meterId }) => meterId)
  try {
    const rows = await store.rows<{ meter_id: string; rows: string; quantity: string }>({
      sql: `SELECT meter_id, count() AS rows, toString(sum(quantity)) AS quantity
        FROM registered_usage WHERE meter_id IN {meters:Array(String)} GROUP BY meter_id`,
      parameters: { meters },
    })
    return new Map(
      rows.map((row) => [
        row.meter_id,
        { rows: Number(row.rows), micros: parseTotal(row.quantity) ?? 0n },
      ]),
    )
  } catch (error) {
    if (error instanceof Fault && error.retry) return undefined
    throw error
  }
}

/** Whether every registered meter shows what the same files of the family give it. */
export function isWhole(sights: ReadonlyMap<string, RowSum>, family: readonly SentFile[]): boolean {
  return (
    sights.size === 0 ||
    family
      .flatMap((file) => file.sights)
      .some(({ byMeter }) =>
        [...sights].every(([meterId, { rows, micros }]) => {
          const due = byMeter.get(meterId)
          return due?.rows === rows && due.micros === micros
        }),
      )
  )
}

/**
 * What a sight shows: nothing of the family, the rows and energy that its files leave, or
 * something that must never be seen. A row that a correction repeats unchanged stays with the file
 * that it first came in. Only what the `candidates` leave may be seen.
 */
export function judge(
  sights: readonly Sight[],
  family: readonly SentFile[],
  candidates = family,
): 'nothing' | SentFile | 'partly' {
  if (sights.length === 0) return 'nothing'
  const isOurs = sights.every((one) => family.some((file) => file.fileId === one.fileId))
  const rows = sights.reduce((sum, one) => sum + one.rows, 0)
  const micros = sights.reduce((sum, one) => sum + one.micros, 0n)
  const whole = candidates.find((file) =>
    file.sights.some(({ whole }) => whole.rows === rows && whole.micros === micros),
  )
  return isOurs && whole !== undefined ? whole : 'partly'
}

export function describeSights(sights: readonly Sight[], family: readonly SentFile[]): string {
  const shown = sights.map(
    (one) => `${one.rows} rows, ${one.micros} micros of ${one.fileId.slice(0, 8) || 'no file'}`,
  )
  const due = family.map(({ name, fileId, sights }) => {
    const wholes = sights.map(({ whole }) => `${whole.rows} rows, ${whole.micros}`)
    return `${name} (${fileId.slice(0, 8)}) ${wholes.join(' or ')}`
  })
  return `seen ${shown.join(', ') || 'nothing'}; the family is ${due.join(', ')}`
}
