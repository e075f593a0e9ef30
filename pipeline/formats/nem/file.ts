import { Fault } from '../../../schemas/fault.js'
import type { Ending, RecordRefusal, SentRecord } from '../format.js'
import { readLines, type SentLine } from '../lines.js'
import { emptyRecord } from '../plain-row.js'

/** What differs between the files of the market. */
export interface NemLayout {
  /** What its 100 record says. */
  readonly version: 'NEM12' | 'NEM13'
  /** Where a profile names the format. */
  readonly setting: string
  /** The kinds of its records, for an error. */
  readonly kinds: string
  /** A longer line is rejected unread. */
  readonly lineBytesMax: number
  /** Called at each 100 record. */
  begin?(): void
  /** Whether the line belongs to the record before it, which takes it. */
  extend?(at: SentLine, fields: readonly string[]): boolean
  /** Called where a line of this kind is refused, or one that has none. */
  lost?(kind: string): void
  /** The records that wait for lines behind them. */
  flush?(): readonly SentRecord[]
  /** The records of a line between 100 and 900; undefined where its kind has no place. */
  read(at: SentLine, fields: readonly string[]): readonly SentRecord[] | undefined
  refused(at: SentLine, refusal: RecordRefusal): SentRecord
}

/**
 * Files of the Australian market (AEMO, Meter Data File Format), of which several may follow each other in one:
 * lines between a 100 and a 900 record. Throws `HEADER` for another file, `TRUNCATED` inside of it.
 */
export function createNemFile(layout: NemLayout) {
  const { version, setting, kinds, lineBytesMax, flush = () => [], refused } = layout
  let place: 'start' | 'inside' | 'end' = 'start'
  const begin = (at: SentLine, fields: readonly string[]): SentRecord => {
    const found = fields[1]?.trim().toUpperCase() ?? ''
    if (found !== version) {
      const detail = `line ${at.line}: expected 100,${version}, found 100,${found.slice(0, 20)}; set ${setting} to the format of the file`
      throw new Fault('HEADER', detail)
    }
    if (place === 'inside') {
      const detail = `line ${at.line} begins another file, but no 900 record ends the one before; send complete files`
      throw new Fault('TRUNCATED', detail)
    }
    place = 'inside'
    layout.begin?.()
    return emptyRecord(at)
  }
  const refuse = (at: SentLine, detail: string) =>
    refused(at, { code: 'BAD_RECORD', column: '', detail })
  const read = (at: SentLine): readonly SentRecord[] => {
    if (at.text.trim() === '') return [emptyRecord(at)]
    const fields = at.text.split(',')
    const kind = fields[0]?.trim() ?? ''
    if (place === 'start' && kind !== '100') {
      const detail = `line ${at.line}: expected a 100 record, as ${version} files begin; export the file again`
      throw new Fault('HEADER', detail)
    }
    if (layout.extend?.(at, fields)) return []
    const before = flush()
    if (at.isCut) {
      layout.lost?.(kind)
      const detail = 'the line is longer than limits.rowBytesMax'
      return [...before, refused(at, { code: 'ROW_TOO_LONG', column: '', detail })]
    }
    if (kind === '100') return [...before, begin(at, fields)]
    if (place === 'end') {
      return [...before, refuse(at, `a ${kind} record behind the 900 record, which ends the file`)]
    }
    if (kind === '900') {
      place = 'end'
      return [...before, emptyRecord(at)]
    }
    const records = layout.read(at, fields)
    if (records !== undefined) return [...before, ...records]
    layout.lost?.(kind)
    return [...before, refuse(at, `not a ${kinds} record in its place`)]
  }
  async function* records(input: AsyncIterable<Buffer>) {
    const lines = readLines(input, { encoding: 'utf-8', lineBytesMax, onEnd: () => undefined })
    for await (const batch of lines) yield batch.flatMap(read)
    yield flush()
    if (place === 'start') throw new Fault('EMPTY_FILE', 'the file has no record; export it again')
  }
  const ending = (): Pick<Ending, 'cut' | 'isUnended'> => ({
    cut:
      place === 'inside' ? 'no 900 record ends the file; send the complete file again' : undefined,
    isUnended: false,
  })
  return { records, ending }
}
