import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Feed } from '../../schemas/feed.js'
import { judgeRecord, type RecordFeed, storeColumn } from '../../schemas/record-feed.js'
import { type RecordCode, recordCodes } from '../../schemas/record-value.js'
import { packageRoot } from '../package-root.js'

/** A column of a feed for senders. */
export interface ColumnShown {
  readonly name: string
  readonly holds: string
  /** Format of its values. */
  readonly written: string
  readonly required: 'yes' | 'may be empty' | 'may be left out'
  readonly isKey: boolean
  readonly example: string
}

/** An example file of a feed: its header and the fields of one row. */
export interface Example {
  readonly header: readonly string[]
  readonly row: readonly string[]
}

const usageColumns: Readonly<Record<string, readonly [holds: string, written: string]>> = {
  AccountNumber: ['contract account', 'identifier'],
  ExternalSiteID: ['premise', 'identifier'],
  MeterID: ['permanent and unique meter identifier', 'identifier'],
  TimeStamp: ['start of the interval in local time of the meter', 'day and time, or day'],
  TotalUnit: ['quantity of the interval, in the unit of the profile', 'number'],
}
const usageKey: readonly string[] = ['MeterID', 'TimeStamp']

/** Format of a column by the error code that a long, otherwise invalid text causes. */
const written: Readonly<Partial<Record<RecordCode, string>>> = {
  TOO_LONG: 'identifier',
  TEXT_TOO_LONG: 'text',
  NOT_A_DATE: '`YYYY-MM-DD`',
  NOT_A_DAY: '`YYYY-MM-DD` or `--MM-DD`',
  NOT_A_NUMBER: 'number',
  NOT_A_COUNT: 'whole number',
  NOT_AN_HOUR: '`H` or `H:MM`',
}
const longText = 'x'.repeat(501)

/** The columns of a feed in header order; each is probed with the row validation of the feed. */
export function columnsOf(feed: Feed, example: Example): readonly ColumnShown[] {
  const given = new Map(example.header.map((name, at) => [name, example.row[at] ?? '']))
  return feed.columns.map((name) => {
    const shown = { name, example: given.get(name) ?? '' }
    if (feed.kind === 'records') return { ...shown, ...recordColumn(feed, name, given) }
    const [holds = '', how = ''] = usageColumns[name] ?? []
    return { ...shown, holds, written: how, required: 'yes', isKey: usageKey.includes(name) }
  })
}

function recordColumn(feed: RecordFeed, name: string, given: ReadonlyMap<string, string>) {
  const judge = (text: string) => {
    const fields = feed.columns.map((one) => (one === name ? text : (given.get(one) ?? '')))
    const verdict = judgeRecord(feed, { header: feed.columns }, fields)
    return verdict.outcome === 'rejected' && verdict.column === name ? verdict : undefined
  }
  const { code, detail = '' } = judge(longText) ?? {}
  const signed = judge('-1')?.code === 'NEGATIVE' ? ', not below 0' : ''
  const listed = detail.slice(`${recordCodes.NOT_LISTED} `.length)
  const how =
    code === 'NOT_LISTED' ? `one of ${listed}` : (written[code as RecordCode] ?? '') + signed
  const empty = judge('')?.code === 'EMPTY' ? 'yes' : 'may be empty'
  return {
    holds: holdsOf(feed, name),
    written: how,
    required: feed.bracketed.includes(name) ? 'may be left out' : empty,
    isKey: feed.key.includes(name),
  } as const
}

const migrations = join(packageRoot(import.meta.url), 'infra', 'schema', 'migrations')
const statements = readdirSync(migrations)
  .sort()
  .map((name) => readFileSync(join(migrations, name), 'utf8'))
  .join('\n')

/** The comment of the column in the feed's view, without details for queries only. */
function holdsOf({ view }: RecordFeed, name: string): string {
  const from = statements.lastIndexOf(`VIEW {database}.${view}{onCluster} (`)
  const columns = statements.slice(from, statements.indexOf('\n)', from))
  const comment = new RegExp(`^ +${storeColumn(name)} .*COMMENT '(.+)'`, 'm').exec(columns)?.[1]
  return comment?.replaceAll(forReaders, '') ?? ''
}

const forReaders =
  /, (?:NULL (?:where|while) .+|empty where not given|as sent|19\.5 being 19:30)(?=,|$)/g
