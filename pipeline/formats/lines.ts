import { Fault } from '../../schemas/fault.js'

const pieceBytes = 32_768

/**
 * The same bytes in smaller pieces. What is made of a piece is garbage soon; of larger ones the collector
 * moves it first, which takes longer than to read it.
 */
export async function* inPieces(input: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const bytes of input) {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
  }
}

/** A line of a file as text, without its line end. */
export interface SentLine {
  readonly line: number
  readonly text: string
  /** Whether the text is only the start of a line that is too long. */
  readonly isCut: boolean
}

export type Encoding = 'utf-8' | 'windows-1252' | 'utf-16le' | 'utf-16be'

/** Turns the bytes of a file into text, its end without an argument. Throws `ENCODING` with the line. */
export function createDecoder(encoding: Encoding, lineOf: () => number) {
  const decoder = new TextDecoder(encoding, { fatal: true })
  let head = ''
  /** Every byte is a character of windows-1252, also those of the mark of UTF-8. */
  const isMarked = (text: string) => {
    if (encoding === 'windows-1252' && head.length < 3) head += text.slice(0, 3 - head.length)
    return head === '\u00EF\u00BB\u00BF'
  }
  return (bytes?: Buffer): string => {
    const detail = `the bytes from line ${lineOf()} on are not ${encoding}; export the file in that encoding`
    try {
      const text = bytes === undefined ? decoder.decode() : decoder.decode(bytes, { stream: true })
      if (!text.includes('\0') && !isMarked(text)) return text
    } catch (error) {
      throw new Fault('ENCODING', detail, { cause: error })
    }
    throw new Fault('ENCODING', detail)
  }
}

export interface LinesOptions {
  readonly encoding: Encoding
  readonly lineBytesMax: number
  /** Called at the end with whether the last line lacks its line end. */
  readonly onEnd: (isUnended: boolean) => void
}

/**
 * Splits the bytes of a file into lines, in memory of one line and one buffer. Of a line longer than
 * `lineBytesMax` characters only the start is kept. Throws `ENCODING` for bytes of another encoding.
 */
export async function* readLines(
  input: AsyncIterable<Buffer>,
  { encoding, lineBytesMax, onEnd }: LinesOptions,
): AsyncGenerator<readonly SentLine[]> {
  let line = 1
  let rest = ''
  let isCut = false
  const decode = createDecoder(encoding, () => line)
  const take = (text: string): SentLine => {
    const kept = isCut ? rest : rest + text
    const tooLong = isCut || kept.length > lineBytesMax
    const whole = kept.endsWith('\r') ? kept.slice(0, -1) : kept
    rest = ''
    isCut = false
    return { line: line++, text: tooLong ? whole.slice(0, lineBytesMax) : whole, isCut: tooLong }
  }
  const split = (text: string): readonly SentLine[] => {
    const parts = text.split('\n')
    const last = parts.pop() as string
    const lines = parts.map(take)
    if (!isCut) rest += last
    if (rest.length > lineBytesMax) {
      rest = rest.slice(0, lineBytesMax)
      isCut = true
    }
    return lines
  }
  for await (const bytes of inPieces(input)) yield split(decode(bytes))
  yield split(decode())
  const isUnended = rest !== '' || isCut
  onEnd(isUnended)
  if (isUnended) yield [take('')]
}
