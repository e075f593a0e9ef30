import t from 'tap'
import { type FileState, noQuantity, noRows } from '../../../pipeline/ledger/file-state.js'
import { toReceipt } from '../../../pipeline/ledger/receipt.js'
import { hold, toDuplicate } from '../../../pipeline/ledger/verdict.js'
import { balance, receiptSchema } from '../../../schemas/receipt.js'

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
  held: { rows: 0, quantity: '0' },
  restated: { rows: 0, netQuantity: '0' },
  meters: 0,
  firstIntervalStart: undefined,
  lastIntervalEnd: undefined,
  notes: {},
  groupId: 0,
  decision: 0,
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

t.test('a published file has the seconds until it was visible, and notes', async (t) => {
  const receipt = toReceipt(published)
  t.doesNotThrow(() => receiptSchema.parse(receipt))
  t.match(receipt, { status: 'published', reason: null, seconds: 1, rows: published.rows })
  const rejects = 'published without 1 of 4 rows, which the rejects file lists'
  t.same(receipt.notes, ['late', 'the last row has no line end', rejects])
})

t.test('a duplicate names the first, and calls duplicate what was accepted of it', async (t) => {
  const again: FileState = { ...blank, status: 'received', fault: '', reason: '' }
  const receipt = toReceipt(toDuplicate(again, published), published)
  t.doesNotThrow(() => receiptSchema.parse(receipt))
  t.match(receipt, {
    status: 'duplicate',
    reason: 'the same file was published as arrival 3 on 2024-03-05T00:00:01.000Z',
    rows: { read: 4, accepted: 0, duplicate: 3, rejected: 1 },
    quantity: { read: '4', accepted: '0', duplicate: '3', rejected: '1' },
    meters: 3,
    publishedAt: '2024-03-05T00:00:01.000Z',
  })
  t.ok(balance(receipt))
})

t.test('a file that is not published lists its rejected rows and holds the others', async (t) => {
  const received: FileState = {
    ...blank,
    rows: { ...noRows, read: 4, rejected: 3 },
    quantity: { ...noQuantity, read: '4.5', rejected: '3' },
  }
  const receipt = toReceipt(hold(received, { fault: 'TOO_MANY_REJECTED', reason: '3 of 4' }))
  t.doesNotThrow(() => receiptSchema.parse(receipt))
  t.match(receipt, {
    reason: 'TOO_MANY_REJECTED: 3 of 4',
    rows: { read: 3, accepted: 0, rejected: 3 },
    quantity: { read: '3', accepted: '0', rejected: '3' },
    held: { rows: 1, quantity: '1.5' },
  })
  t.ok(balance(receipt))
})
