import t from 'tap'
import { toReceipt } from '../../pipeline/receipt.js'
import { type FileState, noQuantity, noRows } from '../../pipeline/stores/file-state.js'
import { receiptSchema } from '../../schemas/receipt.js'

const blank: FileState = {
  arrival: 7,
  status: 'quarantined',
  source: 'inbox',
  path: '/inbox/x',
  fileName: 'x',
  companyCode: '',
  fileDate: undefined,
  feed: '',
  fileId: '',
  bytes: 0,
  manifest: { chunks: [], seconds: 0, format: null, ended: true },
  fault: 'FILE_NAME',
  reason: 'it has another shape',
  duplicateOf: 0,
  rows: noRows,
  quantity: noQuantity,
  restated: { rows: 0, netQuantity: '0' },
  meters: 0,
  firstIntervalStart: undefined,
  lastIntervalEnd: undefined,
  notes: {},
  attaches: '',
  restates: false,
  receivedAt: new Date('2024-03-05T00:00:00Z'),
  publishedAt: undefined,
  settledAt: new Date('2024-03-05T00:00:02.500Z'),
}
const published: FileState = {
  ...blank,
  arrival: 3,
  status: 'published',
  fault: '',
  reason: '',
  feed: 'Gas',
  fileId: 'a'.repeat(64),
  rows: { ...noRows, read: 4, accepted: 3, rejected: 1 },
  quantity: { ...noQuantity, read: '4', accepted: '3', rejected: '1' },
  meters: 3,
  manifest: { ...blank.manifest, ended: false },
  notes: { warnings: ['late'] },
  publishedAt: new Date('2024-03-05T00:00:01Z'),
}

t.test('a quarantined file has its reason, and nulls for what is not known', async (t) => {
  const receipt = toReceipt(blank)
  t.doesNotThrow(() => receiptSchema.parse(receipt))
  t.match(receipt, {
    status: 'quarantined',
    reason: 'FILE_NAME: it has another shape',
    fileId: null,
    feed: null,
    publishedAt: null,
    firstIntervalStart: null,
    seconds: 2.5,
  })
})

t.test(
  'a published file counts its seconds until it was visible, and tells what is odd',
  async (t) => {
    const receipt = toReceipt(published)
    t.doesNotThrow(() => receiptSchema.parse(receipt))
    t.match(receipt, { status: 'published', reason: null, seconds: 1, rows: published.rows })
    t.same(receipt.notes, ['late', 'the last row has no line end'])
  },
)

t.test('a duplicate shows what became of the first, and names it', async (t) => {
  const again: FileState = { ...blank, status: 'duplicate', fault: '', duplicateOf: 3 }
  t.match(toReceipt(again, published), {
    status: 'duplicate',
    reason: 'the same file was published as arrival 3 on 2024-03-05T00:00:01.000Z',
    rows: published.rows,
    quantity: published.quantity,
    publishedAt: '2024-03-05T00:00:01.000Z',
  })
})
