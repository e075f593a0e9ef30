import { type FaultCode, faultCodes } from '../../schemas/fault.js'
import { recordCodes } from '../../schemas/record-value.js'
import { rejectCodes } from '../../schemas/usage-row.js'
import { renderMarkdownTable } from './markdown.js'

/** What the detail of a row goes on with. */
const unended = /(?:found|one of|than in)$/

const rowCodes = Object.entries({
  ...Object.fromEntries(Object.entries(rejectCodes).map(([code, { detail }]) => [code, detail])),
  ...recordCodes,
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
] as const satisfies readonly FaultCode[]
const fileCodes = ofWholeFiles.map((code) => [`\`${code}\``, faultCodes[code].meaning])

/** What holds for all feeds. */
export const sendPreface = `# What to send us

Made of the table of feeds in \`schemas/\` and of what \`tieline check\` says of each example; a test
holds this page to it. Send no file before \`tieline check FILE\` takes it: it judges as the receiver
does, needs no server, and ends with 0, or with 2 where a file would be quarantined. Give it the
receiver's profile (\`--profile\`); the examples here are judged by that of the demo utility.

## Every file

- Its name is \`<CompanyCode>_<DDMMYYYY>_<Feed>.csv\`, or \`..._<n>.csv\` for the parts of a day; \`.csv.gz\`
  and \`.zip\` with one file in it are taken too. A name of your own needs a line in \`fileNames\` of the profile.
- UTF-8, commas, quotes where a field has a comma or a quote, the header as the first line, a line
  feed behind the last row. Write it under a name that ends in \`.part\` and rename it, or put an
  empty \`<name>.done\` beside it when it is whole.
- Columns stand in the order of the tables below. "may be empty" is a column whose fields may be;
  "may be left out" is one that the header may leave out too.
- Identifier: 1 to 64 characters, as text; a spreadsheet rounds long ones. Number: plain decimal such
  as \`-12.5\`, no currency, no thousands, six decimals are kept. Text: at most 500 characters.
- Rows with the same values in the key are the same row: the latest counts, and equal ones are
  duplicates. A correction is a later file with the row as it should be.
- A bad row is rejected with line, column and code in \`<name>.rejects.csv\`; the others are published. More
  than \`usage.rejectedShareMax\` of the rows, and more than ten, quarantine the whole file. Files of
  complete schedules are published without a bad row or not at all.
- Times in usage files are written \`M/D/YYYY H:MM\`, \`M/D/YYYY\` for days, \`YYYY-MM-DD HH:MM\` and
  others, one format in a file, by the clock on the wall: the hour that the autumn repeats stands
  twice, the one that the spring skips not at all.
- Files of a set (the rates of one company and day) belong together: name them in one
  \`tieline load\`, or put \`<CompanyCode>_<DDMMYYYY>_Rates.done\` beside them, or wait \`rates.quietMinutes\`.
  Where \`fileNames\` has a pattern with \`<Feed>\`, the same name with \`Rates\` in its place is a done-file too.

## How it comes back

\`<name>.receipt.json\` says where every row went, \`<name>.rejects.csv\` which were no use and why: in
\`outbox/\`, and beside the file where the source is on another machine. Only what is published is
accepted: the receipt of a quarantined file has its rejected rows and the number of all others as
\`held\`.

## Sent to the gateway

Files and rows are also taken by the listener with client certificates (\`gateway.mutual\`), where the
profile has the section \`intake\` with a user. A \`PUT\` of a file names it by its SHA-256, is answered 202
with the address of its receipt when it is on the disk, and goes on from \`Upload-Offset\` where it was cut
off (\`Content-Range: bytes <from>-<to>/<all>\`; \`bytes */<all>\` with no body asks how much is there).
Rows that are pushed are flushed to the disk, those of all calls of a moment together, before any of the
calls is answered, and become a file every \`gatherSeconds\`:

\`\`\`sh
curl --cert client.pem --key client.key --cacert ca.pem -u platform -T DEMO_05022026_Electric.csv \\
  -H "Repr-Digest: sha-256=:$(openssl dgst -sha256 -binary DEMO_05022026_Electric.csv | base64):" \\
  https://localhost:8444/v1/files/DEMO_05022026_Electric.csv
curl --cert client.pem --key client.key --cacert ca.pem -u platform -H 'Feed: Electric' \\
  -H 'Content-Type: application/x-ndjson' --data-binary @rows.ndjson https://localhost:8444/v1/usage
\`\`\`

Each is answered 202 with the address of its receipt, such as \`/v1/files/1\`; a \`GET\` there shows it.

## Why a file is refused whole

${renderMarkdownTable(['code', 'means'], fileCodes)}

## Why a row is rejected

Schedules have more codes, for what is wrong between rows; their details say it in full.

${renderMarkdownTable(['code', 'means'], rowCodes)}
`
