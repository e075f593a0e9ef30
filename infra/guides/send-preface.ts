import { type FaultCode, faultCodes } from '../../schemas/fault.js'
import { recordCodes } from '../../schemas/record-value.js'
import { rejectCodes } from '../../schemas/usage-row.js'
import { renderMarkdownTable } from './markdown.js'

/** Ends of a detail that a value follows. */
const unended = /(?:found|one of|than in)$/

const rowCodes = Object.entries({
  ...Object.fromEntries(Object.entries(rejectCodes).map(([code, { detail }]) => [code, detail])),
  ...recordCodes,
  TOO_LARGE: `of reads: ${rejectCodes.TOO_LARGE.detail}; of others: ${recordCodes.TOO_LARGE}`,
}).map(([code, detail]) => [
  `\`${code}\``,
  detail.replace('5 columns', 'the columns of the header').replace(unended, '$& ...'),
])

const ofWholeFiles = [
  'FILE_NAME',
  'COMPANY_CODE',
  'HEADER',
  'EMPTY_FILE',
  'NO_ROWS',
  'ENCODING',
  'ROW_LENGTH',
  'TRUNCATED',
  'ARCHIVE',
  'RATIO',
  'FILE_TOO_LARGE',
  'TOO_MANY_REJECTED',
  'SCHEDULE',
  'DATE_ORDER',
  'INTERVAL_NUMBER',
] as const satisfies readonly FaultCode[]
const fileCodes = ofWholeFiles.map((code) => [`\`${code}\``, faultCodes[code].meaning])

/** The rules for all feeds. */
export const sendPreface = `# What to send us

This page is generated from the table of feeds in \`schemas/\` and from the output of \`tieline check\`; a
test keeps it up to date. Run \`tieline check FILE\` before you send a file. It uses the rules of the
receiver and needs no server. It exits with 0, or with 2 if a file would be quarantined. It does not
know what the receiver has stored, so it reports no duplicates of earlier files. Use the receiver's
profile (\`--profile\`); the examples here use the profile of the demo utility.

Usage files in another layout are welcome too: see [other formats](formats.md).

## Every file

- The name is \`<CompanyCode>_<DDMMYYYY>_<Feed>.csv\`, or \`..._<n>.csv\` for the parts of a day. \`.csv.gz\`,
  and \`.zip\` with one file, are accepted too. Other names need a pattern in \`fileNames\` of the profile,
  such as \`{ like: mdm_<YYYY><MM><DD>, feed: Electric }\`.
- Use UTF-8, commas, and quotes around fields with a comma or a quote. The first line is the header.
- The last row ends with a line feed. Without it, the row may be cut and is rejected (\`MAYBE_CUT\`),
  unless something shows that it is whole. A done-file, an upload, S3 or an archive does. So do numbers
  with the same decimals in all rows, with zeros at the end written out. So do five files before it
  without a line feed. A file that you name in \`tieline load\` is judged like any other. Pushed rows
  need no line feed at the end. The receiver can change the rule with \`files.lastLineEnd\`.
- Write the file under a name that ends in \`.part\` and rename it. Or put an empty \`<name>.done\` in the
  same folder when the file is complete.
- Columns have the order of the tables below. More columns behind them are refused, or ignored with
  \`files.extraColumns: ignore\`; the receipt names them. Only reads may have a
  [\`Quality\`](formats.md#quality-of-reads). "may be empty" is a column with optional values. "may be
  left out" is a column that the header may omit too.
- Identifiers have 1 to 64 characters and are text: spreadsheets round long numbers. They have no
  control or other invisible characters, such as U+200B or U+202E, and do not start with \`=\`, \`+\`,
  \`-\` or \`@\`. Numbers are plain decimals such as \`-12.5\` or \`.5\` (not \`0.\`), without
  currency or thousands separators; six decimals are kept, of prices nine. The receipt counts rounded rows. Text has at most 500 characters.
- Rows with the same key values are the same row: the latest one counts, and equal ones are duplicates.
  To correct a row, send it with the right values in a later file.
- A bad row is rejected with line, column and code in \`<name>.rejects.csv\`; the others are published.
  The file is quarantined if more than ten rows and more than \`usage.rejectedShareMax\` are bad, or if
  more than half of its rows are. A complete schedule with a bad row is not published at all.
- Times in usage files are \`M/D/YYYY H:MM\`, \`M/D/YYYY\` for days, \`YYYY-MM-DD HH:MM\` and others. Use
  one format in a file, in local time. The repeated hour in autumn appears twice; the skipped hour in
  spring is absent.
- Send the rows of a meter in the order of time, all oldest first or all newest first. In the repeated
  hour the earlier row is daylight time. A file may end inside that hour if the next one continues it.
- To correct reads of the repeated hour, send the whole day. Or add the read just before the hour for
  its first pass, the read just after it for its second pass. Timestamps with an offset, such as
  \`2025-11-02T01:15-05:00\`, are never ambiguous. Rows that could be of either hour are counted in
  \`ambiguousHourRows\` of the receipt. They are rejected (\`AMBIGUOUS_TIME\`) where they might replace the
  read of the other hour. Such rows do not count towards \`usage.rejectedShareMax\`, but a file of nothing else is
  quarantined.
- Files of a set (the rates of one company and day) are published together. Name them in one
  \`tieline load\`, or add \`<CompanyCode>_<DDMMYYYY>_Rates.done\`, or wait \`rates.quietMinutes\`. For a
  pattern with \`<Feed>\` in \`fileNames\`, the same name with \`Rates\` is the done-file.

## What you get back

\`<name>.receipt.json\` reports what happened to each row, \`<name>.rejects.csv\` lists the rejected rows with
reasons. Both are in \`outbox/\`, and next to the file if the source is on another machine. Only published
rows count as accepted. The receipt of a quarantined file has its rejected rows, and the number of all
other rows as \`held\`.

A cell of the rejects file is never a formula in a spreadsheet. Where text would start one, with \`=\`,
\`+\`, \`-\`, \`@\`, a tab or a line break, an apostrophe is put before it. This applies at the start of
a cell and behind a comma, semicolon, bar, tab, line break or quote inside it. Columns such as \`-5.2\` are
not changed, except the first of a row. To restore a row, remove one apostrophe at each of these places. The view
\`rejected_row\` has every row as received.

## When a meter is exchanged

Send the reads of the new meter under its own \`MeterID\`, with the account and site of the old one, from its
first interval on:

\`\`\`csv
AccountNumber,ExternalSiteID,MeterID,TimeStamp,TotalUnit
910020000001,5113000001,55000001,2/10/2026 9:45,0.119
910020000001,5113000001,55000009,2/10/2026 10:00,0.124
\`\`\`

- The reads of both meters are the customer's at once, before his record lists the new meter too. Until it does,
  the new meter has the rate, the cycle and the unit of the old one.
- List the new meter instead of the old one in the customer record, and register the record on the day of the
  exchange. The gateway registers a record when the platform requests it, \`tieline register\` at once.
- Each meter has a bill of its own. That of the new meter begins on the day of its first read. That of the old
  one ends on the day on which the record was registered.
- Each bill counts its tiers and monthly charges for its own days, and the day of the exchange is in both.
  Charges \`PerPeriod\` are on both.
- Until the record is registered, the old meter lacks reads: its bills are \`incomplete\`, \`sparse\` or
  \`noUsage\`. If a customer's first record comes after the exchange, so are those of the new meter.
- Never send a termination of the old meter: \`termination.graceDays\` later the account's reads and bills of it are
  erased.

## Upload to the gateway

The listener with client certificates (\`gateway.mutual\`) also accepts files and rows, if the profile has
a section \`intake\` with a user. The gateway also needs the sections \`identity\` and \`cis\`
([connect](connect.md)).

- A \`PUT\` sends a file and names it by its SHA-256. The response is 202 with the address of the receipt
  once the file is on disk.
- Senders are apart. Each sees receipts of its own files and rows only, and replaces its own files only.
  With \`companyCodes\` and \`feeds\`, a user may send nothing else.
- Of two senders that upload a new name at the same time, the first complete file gets the name.
- A user that is removed from the profile is refused from the next start on. Its complete files and
  acknowledged rows are loaded; the start of an upload is removed after \`retention.stagingDays\`.
- An interrupted upload continues from \`Upload-Offset\` with \`Content-Range: bytes <from>-<to>/<all>\`. To
  get the offset, send \`bytes */<all>\` without a body.
- A file may be sent again after a correction. The response is 503 until the file itself has its receipt.
- A \`POST\` sends rows. The response comes after the rows are flushed to disk. Every \`gatherSeconds\` they
  become a file. Each sender and each timestamp format has a file of its own, and rows with \`Quality\`
  have one. A call has timestamps of one format, and 4 MB at most. A longer one is refused with 413: send several calls, or upload a file.
- Files become arrivals in the order in which they were begun, also after an outage and with several
  gateways. A correction that is pushed \`gatherSeconds\` after the row, or later, always counts. Of two rows that
  are pushed within that time the later one counts if one gateway gets both in one format.
  Rows with \`Quality\` count as of a format of their own.
- A \`POST\` with the rows before and after the repeated hour needs both rows of each timestamp between
  them. Otherwise it is refused with 400. Send both rows, or timestamps with an offset.

\`\`\`sh
curl --cert client.pem --key client.key --cacert ca.pem -u platform -T DEMO_05022026_Electric.csv \\
  -H "Repr-Digest: sha-256=:$(openssl dgst -sha256 -binary DEMO_05022026_Electric.csv | base64):" \\
  https://localhost:8444/v1/files/DEMO_05022026_Electric.csv
curl --cert client.pem --key client.key --cacert ca.pem -u platform -H 'Feed: Electric' \\
  -H 'Content-Type: application/x-ndjson' --data-binary @rows.ndjson https://localhost:8444/v1/usage
\`\`\`

The response is 202 with the address of the receipt, such as \`/v1/files/1\`; request it with \`GET\`.

## Why a file is rejected as a whole

${renderMarkdownTable(['code', 'meaning'], fileCodes)}

## Why a row is rejected

Schedules have more codes, for errors between rows; their details describe the error.

${renderMarkdownTable(['code', 'meaning'], rowCodes)}
`
