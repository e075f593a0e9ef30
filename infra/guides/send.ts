import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { type Checked, check, toEntries } from '../../pipeline/check.js'
import { parseRow } from '../../pipeline/files/csv.js'
import { type Feed, type FeedName, feedNames, feeds, recordFeedOf } from '../../schemas/feed.js'
import { csvField } from '../../schemas/field.js'
import { packageRoot } from '../package-root.js'
import { demoProfilePath, readProfile } from '../stack/profile-file.js'
import { type TemporaryStore, withTemporaryStore } from '../stack/temporary-store.js'
import { type ColumnShown, columnsOf } from './columns.js'
import { fence, renderMarkdownTable } from './markdown.js'
import { sendPreface } from './send-preface.js'

/** The bad example of each feed is the good file with one changed value. */
interface Mistake {
  /** Physical line, the header being 1. */
  readonly line: number
  readonly column: string
  readonly value: string
}

const mistakes: Readonly<Record<FeedName, Mistake>> = {
  Electric: { line: 3, column: 'TimeStamp', value: '3/8/2026 2:15' },
  Gas: { line: 3, column: 'TotalUnit', value: '-1.982' },
  Billing: { line: 2, column: 'ContractAccount', value: '9.1002E+11' },
  BillingLines: { line: 2, column: 'LineNumber', value: '1.0' },
  Invoices: { line: 2, column: 'Amount', value: '$68.46' },
  PaymentPlans: { line: 3, column: 'Status', value: 'Open' },
  Terminations: { line: 2, column: 'TerminationDate', value: '2/3/2026' },
  BillingCycles: { line: 3, column: 'StartDate', value: '2025-12-20' },
  RateCodes: { line: 3, column: 'RateType', value: 'Tier' },
  RateTou: { line: 6, column: 'EndHour', value: '22' },
  RateTiers: { line: 3, column: 'DailyProrateFactor', value: '12' },
  RateFlat: { line: 3, column: 'RateStartDate', value: '2026-03-15' },
  RateFixed: { line: 2, column: 'Taxable', value: 'yes' },
  Holidays: { line: 2, column: 'Date', value: '1/1/2026' },
}

/** Rules about more than one column. */
const notes: Readonly<Partial<Record<FeedName, string>>> = {
  Electric: `
To correct reads, send only the rows that are wrong, with the same meter and timestamp. They may be any
distance apart: the length of an interval comes from the stored reads of the meter. The receipt counts
the replaced reads in \`restated\`. If nothing proves a length, it is provisional. A later file proves it
if it fills a day, alone or with provisional reads, or has three rows in succession. Earlier provisional
reads of the meter are then stored under the proved length, and the receipt counts them in \`notes\`. A
good correction of a meter with 15-minute reads:

\`\`\`csv
AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit
910020000001,5113000001,55000001,2/4/2026 0:00,0.131
910020000001,5113000001,55000001,2/4/2026 1:00,0.119
\`\`\`

Three rows in succession at another allowed length could be corrections or a new series. A bad
correction of the same meter has rows at 0:00, 1:00 and 2:00 only:

\`\`\`
line 2, TimeStamp: INTERVAL_LENGTH: no length in usage.intervals fits the rows and the stored reads (15 minutes, 60 minutes): lines 2 and 3 of meter 55000001 are 60 minutes apart, but its stored reads are 15 minutes long; send whole days to change the length, or fewer than three such rows in succession to correct reads
\`\`\`

Send such corrections in whole days, or with the reads between them. Reads that fill nine tenths of a
day have their own length, whatever is stored.
`,
  Billing: `
Documents of one period are added up. To cancel one, send a row with a \`DocumentNumber\` of its own, the same days, and
the quantity and the cost negated: neither document counts then. To correct one without a cancellation, send its key
again. A cancellation under the number of the cancelled document, or where both have none, only replaces its row: the
period is billed below 0.
`,
  BillingLines: `
These are the lines of the bill of an account, a meter and a first day, whichever document has them. To rebill it,
send the lines of the new document, and none for the cancellation. A line that the new document does not have any
more stays until you send its number with the amount 0.
`,
  Invoices: `
A line that a corrected invoice does not have any more stays until you send its number with the amount 0.
`,
  RateTou: `
\`DayType\` has these values:

- \`Weekday\`: Monday to Friday without holidays.
- \`Weekend\`: Saturday and Sunday without holidays.
- \`Holiday\`: the days in \`Holidays\`.
- \`WeekendHoliday\`: weekends and holidays.
- \`All\`: every day.

If \`DayType\` is empty or left out, \`Name\` may imply it (\`M-F\`, \`Wknd/Holiday\`); the default is \`Weekday\`.

Hours without a row are off-peak. They have the price of the row \`Off-Peak\` of the same season and
component; only the letters of that name matter. Of several such rows, one whose \`DayType\` is of that day
counts; on holidays one of weekends is next. A warning names the hours if the amounts differ. Without such a
row, each hour of working days, weekends and holidays needs a row. Otherwise the file is rejected
(\`HOUR_UNCOVERED\`).

A row of every year applies from the day of its file, if an earlier file has the rate code. Days before it keep
their prices. The receipt warns of it. Rows with dates can also correct earlier days.
`,
  RateFixed: `
A \`TaxPercent\` has the basis \`Percent\` and a \`TaxAmount\` any other. A \`Minimum\` has \`PerPeriod\`, \`PerDay\` or
\`PerMonth\`. Other kinds may have every basis.
`,
}

const golden = join(packageRoot(import.meta.url), 'test', 'golden')
const nameOf = (feed: string) => `DEMO_05022026_${feed}.csv`
const goodText = (feed: string) => readFileSync(join(golden, nameOf(feed)), 'utf8')

/** The guide for senders of files, as Markdown; each example is checked as `tieline check` does. */
export async function renderSend(): Promise<string> {
  const profile = readProfile(demoProfilePath)
  const { signal: ending } = new AbortController()
  return withTemporaryStore({ profile, ending }, async (temporary) => {
    const sections: string[] = []
    for (const name of feedNames) sections.push(await renderFeed(name, temporary))
    return [sendPreface, ...sections].join('\n')
  })
}

async function renderFeed(name: FeedName, temporary: TemporaryStore): Promise<string> {
  const good = goodText(name)
  const bad = withMistake(good, mistakes[name])
  const [checkedGood, checkedBad] = [
    await checkExample(name, good, temporary),
    await checkExample(name, bad, temporary),
  ]
  const [header = [], row = []] = good.split('\n', 2).map(parseRow)
  const badLine = bad.split('\n')[mistakes[name].line - 1]
  return [
    `## ${name}\n`,
    `${aboutOf(feeds[name])}\n`,
    renderColumns(columnsOf(feeds[name], { header, row })),
    ...(notes[name] === undefined ? [] : [notes[name].trimEnd()]),
    `\nGood, \`${nameOf(name)}\`:\n`,
    fence(good.trimEnd(), 'csv'),
    `\n${fence(renderVerdict(checkedGood))}`,
    `\nBad, with line ${mistakes[name].line} as:\n`,
    fence(badLine ?? '', 'csv'),
    `\n${fence(renderVerdict(checkedBad))}`,
    '',
  ].join('\n')
}

function withMistake(text: string, { line, column, value }: Mistake): string {
  const lines = text.split('\n')
  const at = (parseRow(lines[0] ?? '') ?? []).indexOf(column)
  const row = [...(parseRow(lines[line - 1] ?? '') ?? [])]
  row[at] = value
  return lines.with(line - 1, row.map(csvField).join(',')).join('\n')
}

/** Checks a file together with the other files of its set. */
async function checkExample(
  name: FeedName,
  text: string,
  temporary: TemporaryStore,
): Promise<Checked> {
  const set = recordFeedOf(name)?.schedule?.set
  const others = feedNames.filter(
    (one) => set !== undefined && one !== name && recordFeedOf(one)?.schedule?.set === set,
  )
  const paths = [name, ...others].map((one) => join(temporary.folders.inbox, nameOf(one)))
  for (const [at, path] of paths.entries()) {
    writeFileSync(path, at === 0 ? text : readFileSync(join(golden, basename(path))))
  }
  const [checked] = await check(await toEntries(paths), temporary)
  return checked as Checked
}

function renderVerdict({ receipt, badRows }: Checked): string {
  const { status, reason, rows, held } = receipt
  const counts = { accepted: rows.accepted, rejected: rows.rejected, held: held?.rows ?? 0 }
  const parts = Object.entries(counts).map(([name, count]) => `${count} ${name}`)
  return [
    `${status}: ${parts.join(', ')}`,
    ...(reason ? [reason] : []),
    ...badRows.map(
      ({ line, column, code, detail }) => `line ${line}, ${column}: ${code}: ${detail}`,
    ),
  ].join('\n')
}

function aboutOf(feed: Feed): string {
  if (feed.kind === 'usage') {
    return 'Reads of meters; the rows of a meter are in order of time. View `usage`.'
  }
  const total = feed.total === undefined ? '' : ` The receipt has the sum of \`${feed.total}\`.`
  const whole = 'Complete: each file replaces the previous one, or is rejected as a whole.'
  const added = 'A later row of the same key replaces an earlier one.'
  return `${feed.schedule === undefined ? added : whole}${total} View \`${feed.view}\`.`
}

function renderColumns(columns: readonly ColumnShown[]): string {
  const cells = columns.map(({ name, holds, written, required, isKey, example }) => [
    `\`${name}\``,
    holds,
    written,
    required,
    isKey ? 'key' : '',
    example === '' ? '' : `\`${example}\``,
  ])
  return renderMarkdownTable(['column', 'holds', 'written', 'required', 'key', 'example'], cells)
}
