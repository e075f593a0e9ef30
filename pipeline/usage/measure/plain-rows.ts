import { readFileSync } from 'node:fs'
import type { Decimals } from '../../../schemas/manifest.js'

/** What the module of `assembly/scan.ts` exports; its numbers are globals. */
interface Scan {
  readonly memory: WebAssembly.Memory
  readonly blockAt: WebAssembly.Global
  readonly rows: WebAssembly.Global
  readonly decimals: WebAssembly.Global
  readonly padded: WebAssembly.Global
  readonly crlf: WebAssembly.Global
  readonly lines: WebAssembly.Global
  readonly sum: WebAssembly.Global<'i64'>
  readonly looked: WebAssembly.Global
  begin(rowBytesMax: number, extraColumns: number): void
  lookAt(firstRows: number, stride: number): void
  scan(length: number): number
}

export interface PlainRules {
  readonly extraColumns: number
  readonly rowBytesMax: number
  /** The rows that `see` is called with: the first of a chunk, and then one in so many. */
  readonly firstRows: number
  readonly stride: number
}

export interface PlainCount {
  readonly lines: number
  readonly rows: number
  readonly micros: bigint
  readonly decimals: Decimals
  readonly crlf: boolean
}

/** What fits into the cache of a core. */
const blockBytes = 524_288
const pageBytes = 65_536
const newline = 10

let module: Scan | undefined

/** The module, compiled once; its memory is a block and two pages. */
function load(): Scan {
  if (module !== undefined) return module
  const bytes = readFileSync(new URL('assembly/scan.wasm', import.meta.url))
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes))
  const scan = exports as unknown as Scan
  scan.memory.grow(Math.ceil(blockBytes / pageBytes) + 2)
  module = scan
  return scan
}

/**
 * Counts a chunk of plain rows, and calls `see` with the starts of some that are not blank. Returns undefined at
 * the first row that is not plain. A last row without a line end may be cut: the zeros at its end say nothing.
 */
export function countPlain(
  bytes: Buffer,
  rules: PlainRules,
  see: (start: number) => void,
): PlainCount | undefined {
  const scan = load()
  const blockAt: number = scan.blockAt.value
  const memory = new Uint8Array(scan.memory.buffer)
  const starts = new Int32Array(scan.memory.buffer, 16)
  scan.begin(Math.min(rules.rowBytesMax, blockBytes), rules.extraColumns)
  scan.lookAt(rules.firstRows, rules.stride)
  let lines = 0
  let micros = 0n
  for (let at = 0; at < bytes.length; ) {
    const end = blockEnd(bytes, at)
    if (end - at > blockBytes) return undefined
    memory.set(bytes.subarray(at, end), blockAt)
    const isEnded = bytes[end - 1] === newline
    if (!isEnded) memory[blockAt + end - at] = newline
    const padded: number = scan.padded.value
    if (scan.scan(end - at + (isEnded ? 0 : 1)) === 0) return undefined
    if (!isEnded) scan.padded.value = padded
    lines += scan.lines.value
    micros += scan.sum.value
    for (let row = 0; row < scan.looked.value; row++) see(at + (starts[row] as number))
    at = end
  }
  const count = scan.decimals.value === -1 ? undefined : scan.decimals.value
  const decimals = { count, padded: scan.padded.value === 1 }
  return { lines, rows: scan.rows.value, micros, decimals, crlf: scan.crlf.value === 1 }
}

/** Where a block that starts at a row ends: behind its last line end; a last row without one is a block of its own. */
function blockEnd(bytes: Buffer, start: number): number {
  const most = Math.min(start + blockBytes, bytes.length)
  const ended = bytes.lastIndexOf(newline, most - 1) + 1
  if (ended > start) return ended
  const next = bytes.indexOf(newline, start) + 1
  return next === 0 ? bytes.length : next
}
