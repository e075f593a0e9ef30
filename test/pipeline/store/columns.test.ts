import t from 'tap'
import {
  createCodec,
  dateTime,
  group,
  integer,
  json,
  optional,
  plain,
} from '../../../pipeline/store/columns.js'

interface Sample {
  readonly meterId: string
  readonly bytes: number
  readonly sent: { readonly rows: number; readonly netQuantity: string }
  readonly endedAt: Date | undefined
  readonly notes: readonly string[]
}

const codec = createCodec<Sample>({
  meterId: plain(),
  bytes: integer,
  sent: group({ rows: integer, netQuantity: plain<string>() }),
  endedAt: optional(dateTime),
  notes: json(),
})

const sample: Sample = {
  meterId: 'm',
  bytes: 2 ** 40,
  sent: { rows: 3, netQuantity: '1.5' },
  endedAt: undefined,
  notes: ['a'],
}

t.test('a key is the column in snake_case, that of a group begins with its name', async (t) => {
  t.same(codec.toRow(sample), {
    meter_id: 'm',
    bytes: 2 ** 40,
    sent_rows: 3,
    sent_net_quantity: '1.5',
    ended_at: null,
    notes: '["a"]',
  })
})

t.test('a row is read as the engine writes it, whatever else it has', async (t) => {
  const answered = { ...codec.toRow(sample), bytes: String(2 ** 40), sent_rows: '3', more: 1 }
  t.same(codec.fromRow(answered), sample)
  const ended = codec.fromRow({ ...answered, ended_at: '2026-03-01 12:00:00.250' })
  t.same(ended, { ...sample, endedAt: new Date('2026-03-01T12:00:00.250Z') })
})
