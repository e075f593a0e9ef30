import type { SentFile } from './actors/feeder.js'
import { heldIn, isSameValue, noSum, plus, type RowSum, type Value } from './sums.js'

/** A file that was published, as the ledger has it. */
export interface Published {
  readonly arrival: number
  readonly file: SentFile
}

/** What the receipt of a published file must say. */
export interface ExpectedReceipt extends Published {
  readonly read: RowSum
  readonly accepted: RowSum
  readonly duplicate: RowSum
  readonly superseded: RowSum
  readonly rejected: RowSum
  readonly restated: RowSum
  /** Reads that a file which arrived later has corrected before; they are among the superseded. */
  readonly late: number
}

export interface Replayed {
  readonly outcomes: readonly ExpectedReceipt[]
  /** Current reads by meter and start. */
  readonly reads: ReadonlyMap<string, Value>
  /** Meter, start, old and new millionths, old and new file id, with tabs between. */
  readonly restatements: readonly string[]
}

interface Current {
  readonly value: Value
  readonly fileId: string
  /** The latest arrival that said so, also where it only repeated an earlier one. */
  readonly said: number
}

/**
 * Plays the files of a family through in the order in which they were published, by the rules alone:
 * the later arrival counts, what is equal is a duplicate, what comes too late is superseded.
 */
export function replay(published: readonly Published[]): Replayed {
  const current = new Map<string, Current>()
  const restatements: string[] = []
  const outcomes = published.map(({ arrival, file }): ExpectedReceipt => {
    const { reads, ...held } = heldIn(file)
    let { duplicate, superseded } = held
    let accepted = noSum
    let restated = noSum
    for (const [key, value] of reads) {
      const { micros } = value
      const before = current.get(key)
      if (before !== undefined && isSameValue(before.value, value)) {
        duplicate = plus(duplicate, micros)
        current.set(key, { ...before, said: Math.max(before.said, arrival) })
      } else if (before !== undefined && before.said > arrival) {
        superseded = plus(superseded, micros)
      } else {
        accepted = plus(accepted, micros)
        if (before !== undefined && before.value.micros !== micros) {
          restated = plus(restated, micros - before.value.micros)
          const values = [before.value.micros, micros, before.fileId, file.fileId]
          restatements.push([key, ...values].join('\t'))
        }
        current.set(key, { value, fileId: file.fileId, said: arrival })
      }
    }
    const late = superseded.rows - held.superseded.rows
    return { arrival, file, ...held, accepted, duplicate, superseded, restated, late }
  })
  const reads = new Map([...current].map(([key, { value }]) => [key, value]))
  return { outcomes, reads, restatements }
}
