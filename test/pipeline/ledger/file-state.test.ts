import t from 'tap'
import {
  type FileState,
  fileStatuses,
  fromStateRow,
  rankOf,
  toStateRow,
} from '../../../pipeline/ledger/file-state.js'
import { sampleState as state } from './sample-state.js'

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
  for (const status of ['published', 'quarantined', 'duplicate'] as const) {
    t.ok(rank(status, new Date()) > rank('publishing'))
  }
  t.ok(rank('replaced') > rank('waiting', new Date()))
  t.ok(rank('replaced', new Date()) < rank('publishing'), 'whoever looked late knows less')
})
