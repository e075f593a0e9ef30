import { createWriteStream, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { grouped } from '../infra/commands/output/table.js'
import { usageHeader } from '../infra/demo/usage-rows.js'
import { runParser } from './parser.js'
import type { ParserName } from './parser-process.js'
import { measureOnRig, type Rig } from './rig.js'
import { median, verdict } from './usage/figures.js'
import { createThroughTieline } from './usage/through-tieline.js'

export interface FormatsOptions {
  readonly customers: number
  readonly rounds: number
  readonly json?: string
  readonly print: (line: string) => void
}

/** Medians in seconds of the same reads in a format and in the plain layout, loaded in turn. */
interface FormatFigures {
  readonly bytes: number
  readonly plainSeconds: number
  readonly seconds: number
  readonly rowsPerSecond: number
  /** Speed of the format over that of the plain layout. */
  readonly speedOverPlain: number
  /** What others would parse it with, which stores nothing. */
  readonly parser?: { readonly name: ParserName; readonly rowsPerSecond: number }
  readonly rounds: Readonly<Record<'plain' | 'format', readonly number[]>>
}

/** What `--json` writes. */
export interface FormatsFigures {
  readonly rows: number
  readonly formats: Readonly<Record<string, FormatFigures>>
}

const speedMin = 0.5
const perDay = 96
const day = '2026-03-04'
/** Local midnight in Detroit, epoch seconds. */
const midnight = Date.UTC(2026, 2, 4, 5) / 1_000
const quarter = 900

interface Layout {
  readonly format: object
  readonly head: string
  /** A day of a meter; in a format that knows days as spans of time, also more. */
  readonly meter: (meter: string, values: readonly string[]) => string
  readonly foot?: string
  /** Days of a meter in a large file, where a file may not have so many meters: one by default. */
  readonly largeDays?: number
  /** What others parse it with; npm has nothing for NEM12. */
  readonly parser?: ParserName
  /** The rows that the parser counts of a day of a meter: each of its reads by default. */
  readonly parsedPerDay?: number
}

const times = Array.from({ length: perDay }, (_, at) => {
  const minutes = String((at % 4) * 15).padStart(2, '0')
  return `${String(Math.floor(at / 4)).padStart(2, '0')}:${minutes}`
})
const plain: Pick<Layout, 'head' | 'meter'> = {
  head: `${usageHeader}\n`,
  meter: (meter, values) =>
    values
      .map((value, at) => `A${meter},S${meter},${meter},3/4/2026 ${times[at]},${value}\n`)
      .join(''),
}
const columns = Array.from({ length: perDay }, (_, at) => `Q${at + 1}`)
const wide = { meter: 'Meter', time: 'Day', values: { from: 'Q1', count: perDay } }
const espiEntry = (links: Readonly<Record<string, string>>, content: string) => {
  const written = Object.entries(links).map(([rel, href]) => `<link rel="${rel}" href="${href}"/>`)
  return `<entry>${written.join('')}<content>${content}</content></entry>\n`
}

/** The same reads in each, one file of one day. */
const layouts: Readonly<Record<string, Layout>> = {
  'csv, a read in each row': {
    format: { name: 'csv', columns: { meter: 'Meter', time: 'Time', quantity: 'Value' } },
    head: 'Meter,Time,Value\n',
    meter: (meter, values) =>
      values.map((value, at) => `${meter},${day} ${times[at]},${value}\n`).join(''),
    parser: 'fast-csv',
  },
  'csv, a day in each row': {
    format: { name: 'csv', columns: wide, interval: quarter, clock: 'standard' },
    head: `Meter,Day,${columns.join(',')}\n`,
    meter: (meter, values) => `${meter},${day},${values.join(',')}\n`,
    parser: 'fast-csv',
    parsedPerDay: 1,
  },
  nem12: {
    format: { name: 'nem12', offset: '-05:00' },
    head: '100,NEM12,202603050930,A,B\n',
    meter: (meter, values) =>
      `200,${meter},E1,E1,E1,N1,M1,kWh,15,\n300,20260304,${values.join(',')},A,,,,\n`,
    foot: '900\n',
  },
  'green-button': {
    format: { name: 'green-button' },
    head: `<feed xmlns="http://www.w3.org/2005/Atom">\n${espiEntry(
      { self: 'ReadingType/1' },
      '<ReadingType><flowDirection>1</flowDirection><powerOfTenMultiplier>0</powerOfTenMultiplier><uom>72</uom></ReadingType>',
    )}`,
    meter: (meter, values) => {
      const readings = `UsagePoint/${meter}/MeterReading`
      const links = { self: `${readings}/1`, related: 'ReadingType/1' }
      const reads = values.map((value, at) => {
        const period = `<duration>${quarter}</duration><start>${midnight + at * quarter}</start>`
        return `<IntervalReading><timePeriod>${period}</timePeriod><value>${Math.round(Number(value) * 1_000)}</value></IntervalReading>`
      })
      return (
        espiEntry(links, '<MeterReading/>') +
        espiEntry(
          { up: `${readings}/1/IntervalBlock` },
          `<IntervalBlock>${reads.join('\n')}</IntervalBlock>`,
        )
      )
    },
    foot: '</feed>\n',
    largeDays: 4,
    parser: 'green-button-parser',
  },
}

/**
 * Loads one day of 15-minute reads in each format and in the plain layout, from submit to receipt, in turn
 * on one stack for each format.
 */
export async function measureFormats(options: FormatsOptions): Promise<FormatsFigures> {
  const { print, customers, json } = options
  const rows = customers * perDay
  print(
    `${grouped(rows)} rows; estimate: each format at half the speed of the plain layout or more`,
  )
  const formats: Record<string, FormatFigures> = {}
  for (const [name, layout] of Object.entries(layouts)) {
    const found = await onRigOf(layout, (rig) => measure(rig, layout, options))
    formats[name] = found
    const speed = `${name}: ${grouped(Math.round(found.rowsPerSecond))} rows/s, ${found.speedOverPlain.toFixed(2)} of plain`
    print(verdict(speed, found.speedOverPlain >= speedMin, speedMin))
    const { parser } = found
    if (parser !== undefined) {
      print(`  ${parser.name} parses ${grouped(Math.round(parser.rowsPerSecond))} rows/s`)
    }
  }
  const figures = { rows, formats }
  const text = JSON.stringify(figures, undefined, 2)
  if (json === undefined) print(text)
  else await writeFile(json, `${text}\n`)
  return figures
}

async function measure(
  rig: Rig,
  layout: Layout,
  { customers, rounds }: FormatsOptions,
): Promise<FormatFigures> {
  const files = { plain: join(rig.files, 'plain'), format: join(rig.files, 'format') }
  await write(files.plain, plain, { customers })
  await write(files.format, layout, { customers })
  const parse = await createParsing(rig, layout, Math.min(customers, parsedMetersMax))
  const through = await createThroughTieline(rig)
  const seconds = { plain: [] as number[], format: [] as number[] }
  const parsed: number[] = []
  try {
    for (let round = 0; round <= rounds; round++) {
      for (const kind of ['plain', 'format'] as const) {
        const passage = await through.measure(files[kind])
        const { accepted } = passage.receipt.rows
        if (accepted !== customers * perDay) throw new Error(`${kind}: ${accepted} rows accepted`)
        // The first round warms up.
        if (round > 0) seconds[kind].push(passage.seconds)
      }
      if (parse !== undefined) parsed.push(await parse())
    }
  } finally {
    await through.close()
  }
  const [plainSeconds, formatSeconds] = [median(seconds.plain), median(seconds.format)]
  return {
    bytes: statSync(files.format).size,
    plainSeconds,
    seconds: formatSeconds,
    rowsPerSecond: (customers * perDay) / formatSeconds,
    speedOverPlain: plainSeconds / formatSeconds,
    ...(layout.parser && { parser: { name: layout.parser, rowsPerSecond: median(parsed) } }),
    rounds: seconds,
  }
}

/** The parser of Green Button has all of its document in memory at once. */
const parsedMetersMax = 2_000

/** What parses a file of so many meters in a process of its own: rows a second. Undefined without a parser. */
async function createParsing(
  rig: Rig,
  layout: Layout,
  customers: number,
): Promise<(() => Promise<number>) | undefined> {
  const { parser, parsedPerDay = perDay } = layout
  if (parser === undefined) return undefined
  const path = join(rig.files, 'parsed')
  await write(path, layout, { customers })
  return async () => {
    const { rows, seconds } = await runParser(path, parser)
    if (rows !== customers * parsedPerDay) throw new Error(`${parser} saw ${rows} rows`)
    return (customers * perDay) / seconds
  }
}

interface LargeFile {
  readonly rows: number
  readonly bytes: number
  readonly seconds: number
  /** Peaks: of worker and handing-over process, and of the engine. */
  readonly nodeMb: number
  readonly engineMb: number
}

/** Loads one file of a size in each format, and says what memory that took. */
export async function measureLargeFormats(
  options: Omit<FormatsOptions, 'customers' | 'rounds'> & { readonly gigabytes: number },
): Promise<Readonly<Record<string, LargeFile>>> {
  const { print, gigabytes, json } = options
  print(`${gigabytes} GB in each format; estimate: Node takes what it takes for a file of any size`)
  const found: Record<string, LargeFile> = {}
  for (const [name, layout] of Object.entries(layouts)) {
    const one = await onRigOf(layout, (rig) => measureLarge(rig, layout, gigabytes * 1e9))
    found[name] = one
    const { rows, seconds, nodeMb, engineMb } = one
    const memory = `Node ${Math.round(nodeMb)} MB, engine ${Math.round(engineMb)} MB`
    print(`${name}: ${grouped(rows)} rows in ${seconds.toFixed(0)} s, ${memory}`)
  }
  if (json !== undefined) await writeFile(json, `${JSON.stringify(found, undefined, 2)}\n`)
  return found
}

async function measureLarge(rig: Rig, layout: Layout, bytes: number): Promise<LargeFile> {
  const path = join(rig.files, 'format')
  const { largeDays: days = 1 } = layout
  const rows = days * perDay * (await write(path, layout, { bytes, days }))
  const through = await createThroughTieline(rig)
  try {
    const { receipt, seconds } = await through.measure(path)
    if (receipt.rows.accepted !== rows) throw new Error(`${receipt.rows.accepted} of ${rows} rows`)
    return { rows, bytes: statSync(path).size, seconds, ...through.peaks() }
  } finally {
    await through.close()
  }
}

/** Measures on a rig whose usage files have a format. */
function onRigOf<T>({ format }: Layout, measured: (rig: Rig) => Promise<T>): Promise<T> {
  const usage = { format: { Electric: format }, futureHours: 87_600 }
  return measureOnRig({ print: () => undefined }, { usage }, measured)
}

/** Writes so many meters, or as many as a file of so many bytes has. Resolves with their number. */
async function write(
  path: string,
  { head, meter, foot = '' }: Pick<Layout, 'head' | 'meter' | 'foot'>,
  { customers = Number.POSITIVE_INFINITY, bytes = Number.POSITIVE_INFINITY, days = 1 },
): Promise<number> {
  let at = 0
  function* texts(): Generator<string> {
    yield head
    for (let length = 0; at < customers && length < bytes; at++) {
      const values = Array.from(
        { length: days * perDay },
        (_, read) => `0.${((at + read) % 89) + 110}`,
      )
      const text = meter(String(10_000_000 + at), values)
      length += text.length
      yield text
    }
    yield foot
  }
  await pipeline(Readable.from(texts()), createWriteStream(path))
  return at
}
