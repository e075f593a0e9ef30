import { t } from 'tap'
import {
  claimHeld,
  endClients,
  learnAccounts,
  register,
  renewAll,
} from '../../../pipeline/customers/registrations.js'
import type { RegisterContext } from '../../../pipeline/customers/renewal.js'
import { metersInRecords } from '../../../pipeline/customers/stored-facts.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import {
  customerAt,
  profile,
  publishFile,
  publishReads,
  registeringAt,
  toReadRows,
  withoutStaging,
} from '../../pipeline/customers/registering.js'
import { lag, synchronize } from '../../rig/replicas/lag.js'
import { createReplicas } from '../../rig/replicas/start.js'
import { someOf } from '../../rig/sample.js'
import { createDetour, repeat } from './moving.js'

const world = await createReplicas({ ...profile, store: { durability: 'one' } })
t.teardown(() => world.close())
const { r1, r2 } = world.stores

/** Tables that the other replica has as they were before `late`. */
const tables = [
  ...['registration_fact', 'account_meter', 'tenancy', 'termination_row', 'publication'],
  ...['usage_read', 'held_read', 'held_claim', 'usage_change_row'],
]

const registeringOn = (store: Store) => ({
  ...registeringAt(store, () => new Date('2026-05-01T12:00:00Z')),
  profile: { ...profile, ingestion: 'registered' as const },
})

/** What belongs to a case: a client with an account at a meter, and arrivals. */
interface Own {
  readonly at: number
  readonly context: RegisterContext
  readonly customer: (name: string) => ReturnType<typeof customerAt>
  readonly read: (name: string) => Parameters<typeof publishReads>[2][number]
}

function ownOf(at: number, store: Store): Own {
  const place = (name: string) => ({
    accountNumber: `${name}${at}`,
    externalSiteId: `S${at}`,
    meterId: `M${at}`,
  })
  return {
    at,
    context: registeringOn(store),
    customer: (name) => customerAt({ clientId: `${name}${at}`, ...place(name) }),
    read: (name) => ({ ...place(name), startsAt: '2026-03-04T05:00:00Z' }),
  }
}

interface Case {
  readonly name: string
  readonly before?: (own: Own) => Promise<unknown>
  /** What the other replica has not seen. */
  readonly late: (own: Own) => Promise<unknown>
  readonly run: (own: Own) => Promise<unknown>
  /** The statement that the other replica answers. */
  readonly away: RegExp
  /** How many such statements are answered here before. */
  readonly passed?: number
  /** How many the other one answers; those that are sent at once go to one server. */
  readonly times?: number
}

const known = ({ context, customer }: Own) => register(context, [customer('a')])
const held = async ({ at, context, read }: Own) => {
  await context.store.insert('held_read', toReadRows(at, [read('b')]))
  await publishFile(context.store, { arrival: at, feed: 'Electric' })
}
const records = /^SELECT\b.*FROM registration_fact WHERE meter_id IN/s

const cases: readonly Case[] = [
  {
    name: 'a customer who comes behind another',
    before: known,
    late: async () => undefined,
    run: ({ context, customer }) => register(context, [customer('b')]),
    away: /^SELECT\b.*(FROM registration_fact WHERE meter_id IN|'usage' AS kind)/s,
    passed: 1,
    times: 2,
  },
  {
    name: 'a meter that a record lists no longer',
    late: known,
    run: ({ context, customer }) => register(context, [{ ...customer('a'), meters: [] }]),
    away: records,
  },
  {
    name: 'a customer who is unregistered',
    late: known,
    run: ({ at, context }) => endClients(context, [`a${at}`], 'left'),
    away: records,
  },
  {
    name: 'an account that a file has ended',
    before: known,
    late: async ({ at, context, read }) => {
      const { accountNumber: account_number } = read('a')
      const row = { account_number, termination_date: '2026-03-31', version: String(at * 2 ** 32) }
      await context.store.insert('termination_row', [row])
      await publishFile(context.store, { arrival: at, feed: 'Terminations' })
    },
    run: async ({ at, context }) => {
      const file = { table: 'termination_row', arrival: at }
      await renewAll(context, await metersInRecords(context.store, file))
    },
    away: /^SELECT\b.*DISTINCT meter_id FROM registration_fact/s,
  },
  {
    name: 'an account that a file names',
    before: known,
    late: ({ at, context, read, customer }) =>
      publishReads(context.store, at, [read('b')]).then(() => register(context, [customer('b')])),
    run: ({ at, context }) => learnAccounts(context, withoutStaging(at)),
    away: /^SELECT\b.*AS ofClients\s+FROM account_meter/s,
  },
  {
    name: 'held reads that a registration asks for',
    late: held,
    run: async ({ context, customer }) => {
      await register(context, [customer('b')])
      await claimHeld(registeringOn(context.store))
    },
    away: /^SELECT\b.*\b1 FROM held_read/s,
  },
  {
    name: 'held reads that are claimed',
    late: held,
    run: async ({ context, customer }) => {
      await register(context, [customer('b')])
      await claimHeld(registeringOn(context.store))
    },
    away: /^SELECT\b.*DISTINCT meter_id AS meter FROM held_read/s,
  },
]

let arrivals = 0

/** What readers see at the end, and whether the other replica has answered a statement. */
async function outcomeOf({ before, late, run, away, passed = 0, times = 1 }: Case, moves: boolean) {
  const at = ++arrivals
  let seen = moves ? 0 : passed + times
  const client = createDetour(
    world,
    (statement) => seen < passed + times && away.test(statement) && seen++ >= passed,
  )
  await before?.(ownOf(at, r1))
  await synchronize(r2)
  await lag(r2, 'replication queues', { to: 'STOP', tables })
  await late(ownOf(at, r1))
  await repeat(async () => void (await run(ownOf(at, client.store))))
  await lag(r2, 'replication queues', { to: 'START', tables })
  await synchronize(r2)
  const find = (sql: string) => r1.rows({ sql })
  const text = (column: string) => `replaceRegexpAll(toString(${column}), '\\\\d+\\\\b', '')`
  const found = {
    tenancies:
      await find(`SELECT ${text('account_number')} AS account, ${text('client_ids')} AS clients,
        valid_from, valid_to, ended_by FROM tenancy FINAL WHERE meter_id = 'M${at}' ORDER BY account`),
    reads: await find(
      `SELECT ${text('client_ids')} AS clients FROM registered_usage WHERE meter_id = 'M${at}'`,
    ),
    held: await find(`SELECT 1 FROM held_read WHERE meter_id = 'M${at}'`),
  }
  return { hasMoved: seen === passed + times, found }
}

for (const one of someOf(cases, 5)) {
  t.test(`${one.name}, while another server answers a statement`, async (t) => {
    const calm = await outcomeOf(one, false)
    const moved = await outcomeOf(one, true)
    t.ok(moved.hasMoved, 'it has moved')
    t.same(moved.found, calm.found)
  })
}
