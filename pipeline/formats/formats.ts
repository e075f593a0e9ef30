import { type Feed, type FeedName, feeds } from '../../schemas/feed.js'
import { qualityColumn } from '../../schemas/quantity.js'
import { matchHeader } from '../../schemas/record-feed.js'
import type { BillingFormat } from '../../schemas/settings/formats/billing-format.js'
import type { UsageFormat } from '../../schemas/settings/formats/usage-format.js'
import type { PipelineContext } from '../context.js'
import { parseRow } from '../files/csv.js'
import { extraWarnings } from '../files/header.js'
import { createGreenButtonPeriods } from './billed/green-button.js'
import { createCsv } from './csv/csv.js'
import { createPlainWithQuality } from './csv/with-quality.js'
import type { BilledContext, Conversion, Format, FormatContext } from './format.js'
import { createGreenButton } from './green-button.js'
import { createNem12 } from './nem/nem12.js'
import { createNem13 } from './nem/nem13.js'

type Named<All, N> = Extract<All, { readonly name: N }>
type Converted<All extends { readonly name: string }> = Exclude<All['name'], 'tieline'>

/** The formats of usage files; one without an entry here is the plain layout itself. */
const usageFormats: {
  readonly [N in Converted<UsageFormat>]: Format<Named<UsageFormat, N>>
} = {
  csv: createCsv,
  nem12: createNem12,
  'green-button': createGreenButton,
}

/** The formats of files of the feed Billing. */
const billingFormats: {
  readonly [N in Converted<BillingFormat>]: Format<Named<BillingFormat, N>, BilledContext>
} = {
  nem13: createNem13,
  'green-button': createGreenButtonPeriods,
}

/** Feed and name of each format that is converted. */
export const convertedFormats: readonly string[] = [
  ...Object.keys(usageFormats).map((name) => `usage ${name}`),
  ...Object.keys(billingFormats).map((name) => `Billing ${name}`),
]

/** A file whose format is known. */
export interface OpenedFile {
  /** How it is converted into the plain layout; undefined where it has that already. */
  readonly conversion: Conversion | undefined
  readonly input: AsyncGenerator<Buffer>
  /** For the receipt. */
  readonly warnings: readonly string[]
}

/**
 * Decides how a file is read: as `usage.format` or `files.format` says, but a file with the header of the plain layout is
 * always that one. Pushed rows and histories of meters are such files, and corrections may be. Those of usage may have
 * a column of qualities.
 */
export async function openFile(
  { profile, zone }: Pick<PipelineContext, 'profile' | 'zone'>,
  name: FeedName,
  input: AsyncGenerator<Buffer>,
): Promise<OpenedFile> {
  const feed = feeds[name]
  const settings = formatOf(profile, feed)
  const open = openerOf(settings, feed)
  if (open === undefined && feed.kind !== 'usage')
    return { conversion: undefined, input, warnings: [] }
  const { head, whole } = await peek(input)
  const line = head.toString('latin1').replace(/^\u00EF\u00BB\u00BF/, '')
  const columns = parseRow(line.split(/\r?\n/)[0] as string)
  const matched = columns && matchHeader(feed, columns)
  const { usage, limits, files } = profile
  const context = { usage, zone, lineBytesMax: limits.rowBytesMax }
  if (matched === undefined) return { conversion: open?.(context), input: whole, warnings: [] }
  const note = `its header is that of the layout tieline: read as such, not as ${settings.name}`
  const [first = '', ...ignored] = matched.extra
  const hasQuality =
    feed.kind === 'usage' &&
    first.toLowerCase() === qualityColumn.toLowerCase() &&
    (ignored.length === 0 || files.extraColumns === 'ignore')
  return {
    conversion: hasQuality
      ? createPlainWithQuality({ ...context, commodity: feed.commodity })
      : undefined,
    input: whole,
    warnings: [
      ...(open === undefined ? [] : [note]),
      ...(hasQuality ? extraWarnings(ignored) : []),
    ],
  }
}

type AnyFormat = UsageFormat | BillingFormat

/** The format that a profile names for the files of a feed. */
function formatOf({ usage, files }: PipelineContext['profile'], feed: Feed): AnyFormat {
  if (feed.kind === 'usage') return usage.format[feed.commodity]
  const formats: Partial<Record<string, BillingFormat>> = files.format
  return formats[feed.name] ?? { name: 'tieline' }
}

/** How a file of a format is opened; undefined where it has the plain layout. */
function openerOf(
  settings: AnyFormat,
  feed: Feed,
): ((context: BilledContext) => Conversion) | undefined {
  if (feed.kind === 'usage') {
    const { commodity } = feed
    const open = findFormat<FormatContext>(usageFormats, settings.name)
    return open && ((context) => open(settings, { ...context, commodity }))
  }
  const open = findFormat<BilledContext>(billingFormats, settings.name)
  return open && ((context) => open(settings, context))
}

function findFormat<Context>(
  formats: object,
  name: string,
): Format<AnyFormat, Context> | undefined {
  return (formats as Readonly<Record<string, Format<AnyFormat, Context> | undefined>>)[name]
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
