import type { Test } from 'tap'
import type { BillContext } from '../../../pipeline/bills/context.js'
import { bill } from '../../../pipeline/bills/run.js'
import { learnAccounts, register } from '../../../pipeline/customers/registrations.js'
import { rowsTable } from '../../../pipeline/records/store.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { recordFeedOf } from '../../../schemas/feed.js'
import type { Registration } from '../../../schemas/gateway/registration.js'
import type { ReadQuality } from '../../../schemas/quantity.js'
import { type RecordFeed, storeColumn } from '../../../schemas/record-feed.js'
import { parseProfile } from '../../../schemas/settings/profile.js'
import {
  createZone,
  daySeconds,
  fromWallSeconds,
  toDay,
  wallSeconds,
} from '../../../schemas/time/zone.js'
import { placed } from '../../schemas/lint/placed.js'
import type { RateFiles } from '../../schemas/rating/bills.js'
import {
  markReads,
  migratedStore,
  publishFile,
  registeringAt,
  withoutStaging,
} from '../customers/registering.js'

export interface BillRig {
  readonly store: Store
  /** Publishes rows as the files of a new arrival each, now or at an instant. */
  publish(files: RateFiles, at?: Date): Promise<void>
  /** Publishes a file that brings rows of an earlier arrival back, now or at an instant. */
  repair(feed: string, repairs: number, at?: Date): Promise<void>
  register(...customers: readonly Registration[]): Promise<void>
  /** Registers customers as on an earlier day, `YYYY-MM-DD`. */
  registerAt(day: string, ...customers: readonly Registration[]): Promise<void>
  /** Publishes reads of one meter, one after the other from an instant on. */
  read(reads: Reads): Promise<void>
  /** The same of several meters, or times of a meter, in one file of one commodity. */
  readAll(reads: readonly Reads[]): Promise<void>
  /** What runs are given, with `billing` of the profile. */
  context(rules?: object): BillContext
  bill(request?: Partial<Parameters<typeof bill>[1]>, rules?: object): ReturnType<typeof bill>
  /** Columns of the current bills, by meter. */
  bills(columns: string): Promise<readonly Readonly<Record<string, unknown>>[]>
  lines(meter: string): Promise<readonly (readonly [string, string | null, string])[]>
}

export interface Reads {
  readonly meter: string
  readonly account?: string
  readonly site?: string
  /** ISO 8601. */
  readonly from: string
  readonly seconds?: number
  readonly quantities: readonly string[]
  readonly commodity?: 'Electric' | 'Gas'
  /** What the sender says of the quantities, if anything. */
  readonly quality?: Exclude<ReadQuality, 'asSent'>
}

export const timeZone = 'America/Detroit'
const zone = createZone(timeZone)

/** As JSONEachRow has it: the store's name of the column, and truth without quotes. */
function toColumn([name, value]: readonly [string, string | null]): [string, unknown] {
  return [storeColumn(name), name === 'Taxable' ? value === 'true' : value]
}

/** Reads one after the other as the store has them, without a version. Days begin at one hour of the clock. */
function toRows({ meter, account = `A${meter}`, site = 'S', seconds = 900, ...reads }: Reads) {
  const from = Date.parse(reads.from) / 1_000
  return reads.quantities.map((quantity, at) => {
    const wall = fromWallSeconds(wallSeconds(zone.toWall(from)) + at * seconds)
    const startsAt =
      seconds === daySeconds ? (zone.toInstants(wall)[0] as number) : from + at * seconds
    const local = zone.toWall(startsAt)
    return {
      meter_id: meter,
      commodity: reads.commodity ?? 'Electric',
      starts_at: new Date(startsAt * 1_000).toISOString(),
      seconds,
      local_day: toDay(local),
      local_hour: local.hour,
      quantity,
      account_number: account,
      external_site_id: site,
      ...(reads.quality && { quality: reads.quality, yields: reads.quality === 'estimated' }),
    }
  })
}

/** A store with the means to publish what bills are made of. */
export async function billRig(t: Test, given?: Store): Promise<BillRig> {
  const store = given ?? (await migratedStore(t))
  let arrival = 0
  const publishAs = async (feed: string, publishedAt = new Date(), more: object = {}) => {
    const file = { file_name: `${feed}_${arrival}.csv`, company_code: 'DEMO' }
    await publishFile(store, { arrival, feed, publishedAt, more: { ...file, ...more } })
  }
  const versionOf = (line: number) => String(BigInt(arrival) * 2n ** 32n + BigInt(line))
  const context = (rules: object = {}): BillContext => ({
    store,
    zone,
    profile: parseProfile({ companyCodes: ['DEMO'], timeZone, billing: rules }),
    now: () => new Date(),
  })
  const readAll: BillRig['readAll'] = async (all) => {
    arrival++
    const rows = all.flatMap(toRows).map((row, at) => ({ ...row, version: versionOf(at + 2) }))
    await store.insert('usage_read', rows)
    await markReads(store, arrival)
    const ends = rows.map((row) => Date.parse(row.starts_at) + row.seconds * 1_000)
    const last_interval_end = new Date(ends.reduce((a, b) => Math.max(a, b))).toISOString()
    const times = { last_interval_end, received_at: new Date().toISOString() }
    await publishAs(all[0]?.commodity ?? 'Electric', new Date(), times)
    await learnAccounts(registeringAt(store), withoutStaging(arrival))
  }
  return {
    store,
    publish: async (files, at = new Date()) => {
      for (const [name, lines] of Object.entries(files)) {
        const feed = recordFeedOf(name) as RecordFeed
        arrival++
        const all = placed(name, ...lines)
        const rows = all.map(({ row, line }) => ({
          ...Object.fromEntries(Object.entries(row).map(toColumn)),
          version: versionOf(line),
        }))
        await store.insert(rowsTable(feed), rows)
        if (feed.schedule !== undefined) {
          const starts = rows.map((row) => (row as { start_date?: string }).start_date ?? '')
          const first_start = starts.sort()[0] || '1970-01-01'
          const version = { arrival, feed: name, company_code: 'DEMO', first_start }
          const { code = '' } = feed.schedule
          const codes = new Set(['', ...all.map(({ row }) => row[code] ?? '')])
          await store.insert(
            'schedule_version',
            Array.from(codes, (one) => ({ ...version, code: one })),
          )
        }
        await publishAs(name, at)
      }
    },
    repair: async (feed, repairs, at = new Date()) => {
      arrival++
      await store.insert('arrival', [{ arrival, repairs }])
      await publishAs(feed, at)
    },
    register: async (...customers) => {
      await register(registeringAt(store), customers)
    },
    registerAt: async (day, ...customers) => {
      await register(
        registeringAt(store, () => new Date(day)),
        customers,
      )
    },
    read: (reads) => readAll([reads]),
    readAll,
    context,
    bill: (request = {}, rules) => bill(context(rules), { cycleId: '7', ...request }),
    bills: (columns) =>
      store.rows({ sql: `SELECT ${columns} FROM projected_bill ORDER BY meter_id, start_date` }),
    lines: async (meter) => {
      const rows = await store.rows<{ name: string; quantity: string | null; amount: string }>({
        sql: `SELECT name, toString(quantity) AS quantity, toString(amount) AS amount
          FROM projected_bill_line WHERE meter_id = {meter:String} ORDER BY start_date, line_number`,
        parameters: { meter },
      })
      return rows.map(({ name, quantity, amount }) => [name, quantity, amount])
    },
  }
}

export const steady = (quantity: string, count: number) => new Array<string>(count).fill(quantity)
