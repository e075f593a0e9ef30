import { Fault } from './fault.js'
import { type FeedName, feedNames, feeds, recordFeedOf } from './feed.js'
import { matchPatterns, type Naming } from './name-pattern.js'
import type { SetName } from './record-feed.js'
import { isCalendarDay } from './time/timestamp.js'

/** What the name of a file says. `fileDate` is `YYYY-MM-DD`. */
export interface FileName {
  readonly name: string
  readonly companyCode: string
  readonly fileDate: string
  readonly feed: FeedName
  readonly suffix?: number
  readonly compression: 'none' | 'gzip' | 'zip'
}

const nameBytesMax = 255
const expected = '<CompanyCode>_<DDMMYYYY>_<Feed>[_<n>].csv[.gz|.zip]'
const date = String.raw`(?<day>\d{2})(?<month>\d{2})(?<year>\d{4})`
const stem = String.raw`(?<before>(?<company>[A-Za-z0-9]{1,32})_${date}_)(?<feed>[A-Za-z]+)(?<after>(?:_(?<suffix>\d{1,9}))?)`
const shape = new RegExp(String.raw`^${stem}(?<ending>(?:\.[a-z]+)+)$`)
/** Patterns of the profile that a message names. */
const patternsShown = 10
const remedy = 'add other patterns to fileNames in the profile'
const endings: ReadonlyMap<string, FileName['compression']> = new Map([
  ['.csv', 'none'],
  ['.csv.gz', 'gzip'],
  ['.csv.zip', 'zip'],
  ['.zip', 'zip'],
])

/**
 * Parses a file's name: by the profile's patterns, else by the usual one. Specification 2.8:
 * `<CompanyCode>_<DDMMYYYY>_Electric.csv`. Throws Fault `FILE_NAME`, saying what was expected, for
 * any other name: paths, dot names and control characters too.
 */
export function parseFileName(name: string, naming: Naming): FileName {
  if (Buffer.byteLength(name) > nameBytesMax)
    throw refusal(name, `it is longer than ${nameBytesMax} bytes`)
  const groups = partsOf(name, naming)
  if (groups === undefined) throw refusal(name, unmatched(naming))
  const { company = '', day = '', month = '', year = '' } = groups
  const { feed = '', suffix, ending = '' } = groups
  const compression = endings.get(ending)
  if (compression === undefined)
    throw refusal(name, `it does not end in ${[...endings.keys()].join(', ')}`)
  if (!isFeedName(feed))
    throw refusal(name, `its feed is not one of ${feedNames.join(', ')}; ${remedy}`)
  if (!isCalendarDay(Number(year), Number(month), Number(day)))
    throw refusal(name, `${day}${month}${year} is not a calendar day (DDMMYYYY)`)
  return {
    name,
    companyCode: company,
    fileDate: `${year}-${month}-${day}`,
    feed,
    ...(suffix === undefined ? {} : { suffix: Number(suffix) }),
    compression,
  }
}

/** Whether a name shows that its sender has not finished: `.part`, `.tmp`, `.filepart`, dot names. */
function isUnfinished(name: string): boolean {
  return name.startsWith('.') || /\.(part|tmp|filepart)$/i.test(name)
}

/** What Tieline writes next to a file (receipt, rejects, a mark), and a sender's done-file. */
const beside = /\.(receipt\.json|rejects\.csv|ended|done)$/

/** Whether a name in a sender's folder is that of a file to be taken. */
export function isToBeTaken(name: string): boolean {
  return !isUnfinished(name) && !beside.test(name)
}

/** A sender's name with every character replaced that our own file names do not allow. */
export function plainName(name: string): string {
  return name.replace(/[^A-Za-z0-9._-]/g, '_').slice(0, 200)
}

/** The name of a file in archive or quarantine: `<arrival>-<name>`. */
export function keptName(arrival: number, name: string): string {
  return `${arrival}-${plainName(name)}`
}

/** The name as it was sent, of the name in archive or quarantine. */
export function sentName(name: string, naming: Naming): string {
  const sent = name.replace(/^\d{1,10}-/, '')
  return partsOf(name, naming) === undefined && partsOf(sent, naming) !== undefined ? sent : name
}

/** Names the profile's own patterns: the sender's mistake is usually in one of them. */
function unmatched({ fileNames }: Naming): string {
  if (fileNames.length === 0) return `it does not match the pattern; ${remedy}`
  const shown = fileNames.slice(0, patternsShown).map(({ like }) => `${like}.csv`)
  const more = fileNames.length - shown.length
  const own = `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
  return `it does not match the pattern or those of fileNames in the profile: ${own}; rename it, or add one`
}

function isFeedName(text: string): text is FeedName {
  return Object.hasOwn(feeds, text)
}

/** Control characters are replaced: the message goes to logs, files and terminals. */
function refusal(name: string, reason: string): Fault {
  const whole = name.length > nameBytesMax ? `${name.slice(0, 64)}...` : name
  const shown = JSON.stringify(whole).replace(/\p{C}/gu, '?')
  return new Fault('FILE_NAME', `${shown} is not ${expected}: ${reason}`)
}

/** What the name of a file says, whether or not it is valid. */
export interface Skimmed {
  readonly fileDate: string
  readonly feed: string
}

/** Reads a name without validating it; undefined where it matches no known pattern. */
export function skimFileName(name: string, naming: Naming): Skimmed | undefined {
  const parts = partsOf(name, naming)
  if (parts === undefined) return undefined
  const { day, month, year, feed = '' } = parts
  return { fileDate: `${year}-${month}-${day}`, feed }
}

/** Orders files by the day in their names, then by name, where 9 comes before 10. */
export function fileOrder(name: string, naming: Naming): string {
  const padded = name.replace(/\d+/g, (digits) => digits.padStart(16, '0'))
  return `${skimFileName(name, naming)?.fileDate ?? ''} ${padded}`
}

/** A set of complete schedules, as the name of one of its files gives it (decision 27). */
export interface NamedSet {
  readonly set: SetName
  /** The same for all files of the set, whatever names the profile gives them. */
  readonly key: string
  /**
   * The files by which the sender says that all rate files are there: the usual one, and the file's
   * own name with `Rates` in the place of its feed.
   */
  readonly done: readonly string[]
}

/** The set that a file belongs to by its name; undefined for one that stands alone. */
export function setOfName(name: string, naming: Naming): NamedSet | undefined {
  const { company, day, month, year, feed = '', before, after } = partsOf(name, naming) ?? {}
  const set = recordFeedOf(feed)?.schedule?.set
  if (set === undefined) return undefined
  const stem = `${company}_${day}${month}${year}`
  const own = after === undefined ? [] : [`${before}Rates${after}.done`]
  return { set, key: `${stem}_${set}`, done: [...new Set([`${stem}_Rates.done`, ...own])] }
}

/** The same of rate files, which come together; undefined for any other. */
export function rateSetOf(name: string, naming: Naming): NamedSet | undefined {
  const found = setOfName(name, naming)
  return found?.set === 'rates' ? found : undefined
}

type Parts = Readonly<Record<string, string | undefined>>

function partsOf(name: string, naming: Naming): Parts | undefined {
  return matchPatterns(name, naming) ?? shape.exec(name)?.groups
}
