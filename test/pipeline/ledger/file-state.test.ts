import t from 'tap'
import {
  type FileState,
  fileStatuses,
  fromStateRow,
  noQuantity,
  noRows,
  rankOf,
  toStateRow,
} from '../../../pipeline/ledger/file-state.js'

const state: FileState = {
  arrival: 7,
  status: 'published',
  source: 'inbox',
  path: '/inbox/a.csv',
  fileName: 'DEMO_05032024_Gas.csv',
  companyCode: 'DEMO',
  fileDate: '2024-03-05',
  feed: 'Gas',
  fileId: 'f'.repeat(64),
  bytes: 2 ** 40,
  manifest: {
    chunks: [
      {
        chunk: 0,
        line: 2,
        lines: 3,
        rows: 3,
        bytes: 99,
        micros: '9'.repeat(25),
        format: 'unsplittable',
        crc32: 1,
        crlf: true,
        repeats: true,
      },
    ],
    seconds: 86_400,
    format: 'slashDate',
    ended: false,
  },
  fault: '',
  reason: '',
  duplicateOf: 0,
  rows: { ...noRows, read: 3, accepted: 2, rejected: 1 },
  quantity: { ...noQuantity, read: '12345678901234567890.123456', accepted: '-0.5' },
  held: { rows: 4, quantity: '7.5' },
  restated: { rows: 1, netQuantity: '-0.000001' },
  meters: 2,
  firstIntervalStart: new Date('2024-03-04T05:00:00Z'),
  lastIntervalEnd: new Date('2024-03-05T05:00:00Z'),
  notes: {
    warnings: ['a "quoted" one'],
    dateOrder: 'MDY',
    repeatedHourRows: 2,
    ambiguousHourRows: 1,
    roundedRows: 1,
  },
  groupId: 0,
  decision: 2 ** 47,
  attaches: 'staging_7_read',
  restates: true,
  receivedAt: new Date('2024-03-05T01:02:03.456Z'),
  publishedAt: new Date('2024-03-05T01:02:04Z'),
  settledAt: undefined,
}

/** What the store answers to what it was given: instants with a blank and without a zone. */
const answered = (row: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' && /^\d{4}-.*Z$/.test(value)
        ? value.replace('T', ' ').replace('Z', '')
        : value,
    ]),
  )

t.test('a state comes back from the store as it went in', async (t) => {
  t.strictSame(fromStateRow(answered(toStateRow(state))), state)
  const blank: FileState = {
    ...state,
    fileDate: undefined,
    firstIntervalStart: undefined,
    publishedAt: undefined,
    settledAt: new Date('2024-03-05T01:02:05.001Z'),
    notes: {},
    restates: false,
  }
  t.strictSame(fromStateRow(answered(toStateRow(blank))), blank)
})

t.test('a state never goes back: what is decided outranks what is not, settled all', async (t) => {
  const rank = (status: FileState['status'], settledAt?: Date) =>
    rankOf({ ...state, status, settledAt })
  t.ok(rank('received') < rank('waiting'))
  t.ok(rank('waiting') < rank('publishing'))
  t.ok(rank('publishing') < rank('published'))
  for (const status of fileStatuses) t.ok(rank(status, new Date()) > rank(status))
  for (const status of ['published', 'quarantined', 'duplicate', 'replaced'] as const) {
    t.ok(rank(status, new Date()) > rank('publishing'))
  }
})
