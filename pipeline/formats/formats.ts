import { type FeedName, feeds } from '../../schemas/feed.js'
import { matchHeader } from '../../schemas/record-feed.js'
import type { UsageFormat } from '../../schemas/settings/formats/usage-format.js'
import type { PipelineContext } from '../context.js'
import { parseRow } from '../files/csv.js'
import { createCsv } from './csv.js'
import type { Conversion, Format } from './format.js'
import { createGreenButton } from './green-button.js'
import { createNem12 } from './nem12.js'

type Named<N> = Extract<UsageFormat, { readonly name: N }>

/** The formats of usage files; one without an entry here is the plain layout itself. */
const formats: { readonly [N in Exclude<UsageFormat['name'], 'tieline'>]: Format<Named<N>> } = {
  csv: createCsv,
  nem12: createNem12,
  'green-button': createGreenButton,
}

export const convertedFormats = Object.keys(formats)

/** A file whose format is known. */
export interface OpenedFile {
  /** How it is converted into the plain layout; undefined where it has that already. */
  readonly conversion: Conversion | undefined
  readonly input: AsyncGenerator<Buffer>
  /** For the receipt. */
  readonly warnings: readonly string[]
}

/**
 * Decides how a file is read: as `usage.format` says, but a file with the header of the plain layout is
 * always that one. Pushed rows and histories of meters are such files, and corrections may be.
 */
export async function openFile(
  { profile, zone }: Pick<PipelineContext, 'profile' | 'zone'>,
  name: FeedName,
  input: AsyncGenerator<Buffer>,
): Promise<OpenedFile> {
  const feed = feeds[name]
  if (feed.kind !== 'usage') return { conversion: undefined, input, warnings: [] }
  const { usage, limits } = profile
  const { commodity } = feed
  const settings = usage.format[commodity]
  const open = (formats as Readonly<Record<string, Format<UsageFormat> | undefined>>)[settings.name]
  if (open === undefined) return { conversion: undefined, input, warnings: [] }
  const { head, whole } = await peek(input)
  const line = head.toString('latin1').replace(/^\u00EF\u00BB\u00BF/, '')
  const columns = parseRow(line.split(/\r?\n/)[0] as string)
  if (columns !== undefined && matchHeader(feed, columns) !== undefined) {
    const note = `its header is that of the layout tieline: read as such, not as ${settings.name}`
    return { conversion: undefined, input: whole, warnings: [note] }
  }
  const context = { usage, commodity, zone, lineBytesMax: limits.rowBytesMax }
  return { conversion: open(settings, context), input: whole, warnings: [] }
}

const headBytes = 4_096

/** The first bytes of a file, and the file from its start. */
async function peek(
  input: AsyncGenerator<Buffer>,
): Promise<{ readonly head: Buffer; readonly whole: AsyncGenerator<Buffer> }> {
  const parts: Buffer[] = []
  let length = 0
  while (length < headBytes) {
    const next = await input.next()
    if (next.done === true) break
    parts.push(Buffer.from(next.value))
    length += next.value.length
  }
  async function* whole(): AsyncGenerator<Buffer> {
    try {
      yield* parts.splice(0)
      yield* input
    } finally {
      await input.return(undefined)
    }
  }
  return { head: Buffer.concat(parts).subarray(0, headBytes), whole: whole() }
}
