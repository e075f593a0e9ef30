import t from 'tap'
import {
  type Erasure,
  type HeldInterval,
  recordErasures,
} from '../../../../pipeline/customers/erasure/tombstones.js'
import { eraseDue } from '../../../../pipeline/steps/erase.js'
import { blankState } from '../../../../pipeline/steps/receive.js'
import { createLineByHand } from '../../by-hand.js'
import { toReadRows } from '../registering.js'

const { context, arrive } = await createLineByHand(t)
const { store } = context

const startedAt = new Date()

function erasureOf(
  accountNumber: string,
  at: Partial<Pick<Erasure, 'meterId' | 'externalSiteId' | 'stretches'>> = {},
): Erasure {
  const { meterId = '', externalSiteId = '', stretches = [] } = at
  const ended = { terminatedOn: '2024-06-30', endedAt: '2024-07-01 04:00:00' }
  const started = { startedAt, state: 'started', erasedAt: undefined, counts: {} } as const
  return { accountNumber, meterId, externalSiteId, stretches, ...ended, ...started }
}

const held = (meterId: string, site: string, from: string, to: string): HeldInterval => {
  return [meterId, site, `2024-06-${from} 00:00:00`, `2024-06-${to} 00:00:00`, 1]
}

const campus = Array.from({ length: 600 }, (_, at) => `CAMPUS-${at}`)
const erasures = [
  erasureOf('GONE-whole', { stretches: [held('M', 'S', '02', '03'), held('O', 'S', '03', '04')] }),
  erasureOf('GONE-before', { stretches: [held('M', 'S', '04', '05')] }),
  erasureOf('GONE-premise', { externalSiteId: 'S', stretches: [held('O', 'S', '01', '02')] }),
  erasureOf('GONE-meter', { meterId: 'M', stretches: [held('M', 'T', '01', '03')] }),
  erasureOf('GONE-campus', {
    externalSiteId: 'CAMPUS',
    stretches: campus.map((meterId) => held(meterId, 'CAMPUS', '01', '05')),
  }),
  ...Array.from({ length: 995 }, (_, at) => erasureOf(`GONE-${at}`)),
]

interface Row {
  readonly account: string
  readonly site: string
  readonly meter: string
  readonly day: number
}

const accounts = ['GONE-whole', 'GONE-before', 'GONE-premise', 'GONE-meter', 'STAYS', '']
const days = [1, 2, 3, 4, 5]
/** Every account at every place on every day. */
const rows: readonly Row[] = [
  ...accounts.flatMap((account) =>
    ['S', 'T'].flatMap((site) =>
      ['M', 'O'].flatMap((meter) => days.map((day) => ({ account, site, meter, day }))),
    ),
  ),
  ...['GONE-campus', 'STAYS', ''].flatMap((account) =>
    campus.map((meter) => ({ account, site: 'CAMPUS', meter, day: 5 })),
  ),
  ...erasures.map(({ accountNumber: account }) => ({ account, site: 'U', meter: 'U', day: 1 })),
]

const isSite = ({ meterId, externalSiteId }: Erasure) => meterId === '' && externalSiteId !== ''
const isWhole = ({ meterId, externalSiteId }: Erasure) => meterId === '' && externalSiteId === ''

const isAtPlace = ({ account, site, meter }: Row) =>
  erasures.some((one) => {
    if (one.accountNumber !== account) return false
    return isWhole(one) || one.meterId === meter || (isSite(one) && one.externalSiteId === site)
  })

/** By premises where the table names none: by the meters that were held there. */
const isAtMeter = ({ account, meter }: Row) =>
  erasures.some((one) => {
    if (one.accountNumber !== account) return false
    const isThere = one.stretches.some(([other]) => other === meter)
    return isWhole(one) || one.meterId === meter || (isSite(one) && isThere)
  })

const isUnnamed = ({ account, site, meter, day }: Row) =>
  account === '' &&
  erasures.some(({ stretches }) =>
    stretches.some(([other, place, from, to]) => {
      const at = `2024-06-0${day} 00:00:00`
      return other === meter && place === site && at >= from && at < to
    }),
  )

const isOfAccount = ({ account }: Row) =>
  erasures.some((one) => isWhole(one) && one.accountNumber === account)

const version = (at: number) => String(2n ** 32n + BigInt(at))

interface ErasedTable {
  readonly isTaken: (row: Row) => boolean
  readonly of: (row: Row, at: number) => object
}

/** Each row in each kind of table, known by its version or line. */
const tables: Readonly<Record<string, ErasedTable>> = {
  usage_read: {
    isTaken: (row: Row) => isAtPlace(row) || isUnnamed(row),
    of: ({ account, site, meter, day }: Row, at: number) => {
      const startsAt = `2024-06-0${day}T00:00:00Z`
      const read = { accountNumber: account, externalSiteId: site, meterId: meter, startsAt }
      return { ...toReadRows(1, [read])[0], seconds: at + 1, version: version(at) }
    },
  },
  restatement: {
    isTaken: (row: Row) => isAtPlace(row) || isUnnamed(row),
    of: ({ account, site, meter, day }: Row, at: number) => {
      const old = { old_account_number: account, old_external_site_id: site }
      const starts_at = `2024-06-0${day}T00:00:00Z`
      return { ...old, meter_id: meter, starts_at, new_version: version(at) }
    },
  },
  bill_line_row: {
    isTaken: isAtMeter,
    of: ({ account, meter }: Row, at: number) => {
      return { account_number: account, meter_id: meter, version: version(at) }
    },
  },
  invoice_line_row: {
    isTaken: isOfAccount,
    of: ({ account }: Row, at: number) => {
      return { account_number: account, line_number: at, version: version(at) }
    },
  },
  reject: {
    isTaken: (row: Row) => isAtPlace(row) || isAtMeter(row),
    of: ({ account, site, meter }: Row, line: number) => ({
      arrival: 1,
      line,
      raw: `x,${spellings[line % spellings.length]?.(account)},${site},${meter}`,
    }),
  },
}

/** How a row may name an account that it is rejected for. */
const spellings: readonly ((account: string) => string)[] = [
  (account) => ` "${account}"`,
  (account) => `\ufeff${account}`,
  (account) => `${account.slice(0, 2)}\u200b${account.slice(2)}`,
  (account) => `\u200b=${account}`,
  (account) => `"=""${account}"""`,
  (account) => `"+${account}\n"`,
  (account) => `"1"\r"${account}"`,
  (account) => `x|${account};\t`,
]

const numbers: Readonly<Record<string, string>> = { restatement: 'new_version', reject: 'line' }

async function numbersIn(table: string): Promise<readonly number[]> {
  const number = numbers[table] ?? 'version'
  const found = await store.rows<{ number: number }>({
    sql: `SELECT toUInt32(bitAnd(${number}, 4294967295)) AS number FROM ${table} ORDER BY number`,
  })
  return found.map((row) => row.number)
}

const { arrival: rejecting } = await arrive('DEMO_01062024_Electric.csv', [])
const claimed = await context.ledger.arrival(rejecting)
if (claimed === undefined) throw new Error('the arrival is not stored')
await context.ledger.record({
  ...blankState(context, claimed),
  status: 'published',
  settledAt: startedAt,
})
for (const [table, { of }] of Object.entries(tables)) await store.insert(table, rows.map(of))
await recordErasures(store, erasures)
await eraseDue(context)

for (const [table, { isTaken }] of Object.entries(tables)) {
  t.test(`a thousand erasures take from ${table} what is theirs and nothing else`, async (t) => {
    const left = rows.flatMap((row, at) => (isTaken(row) ? [] : [at]))
    t.ok(left.length > 0 && left.length < rows.length)
    t.same(await numbersIn(table), left)
  })
}

t.test('every replica deletes the same, and no account is in what the engine keeps', async (t) => {
  const mutations = await store.rows<{ table: string; command: string }>({
    sql: 'SELECT table, command FROM system.mutations WHERE database = currentDatabase()',
  })
  t.ok(mutations.length >= Object.keys(tables).length)
  for (const { table, command } of mutations) t.notMatch(command, /SELECT|GONE/i, table)
  const rewritten = mutations.filter(({ table }) => table === 'usage_read')
  t.equal(rewritten.length, 2, 'of two stretches of one meter each needs a statement')
})

t.test('the days of all reads that are gone are listed', async (t) => {
  const listed = await store.rows<{ meter: string; first: string; last: string }>({
    sql: `SELECT meter_id AS meter, toString(local_day) AS first, toString(last_local_day) AS last
      FROM usage_change WHERE cause = 'erasure'`,
  })
  const isListed = ({ meter, day }: Row) =>
    listed.some((one) => {
      const on = `2024-06-0${day}`
      return one.meter === meter && one.first <= on && one.last >= on
    })
  const taken = rows.filter((row) => isAtPlace(row) || isUnnamed(row))
  t.same(
    taken.filter((row) => !isListed(row)),
    [],
  )
  t.notOk(listed.some(({ meter }) => meter === ''))
})

t.test('the tombstones count what was erased', async (t) => {
  const [row] = await store.rows<{ counts: Readonly<Record<string, string>> }>({
    sql: "SELECT counts FROM erasure FINAL WHERE account_number = 'GONE-whole' AND rank = 3",
  })
  t.match(row?.counts, { usage_read: '21', restatement: '21', bill_line_row: '21', reject: '21' })
})
