import type { Test } from 'tap'
import { register } from '../../../../pipeline/customers/registrations.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { sql, typed } from '../../../../pipeline/store/sql.js'
import { buildAllDays } from '../../../../pipeline/usage/days/build.js'
import { compareDays } from '../../../../pipeline/usage/days/compare.js'
import { countRowsByArrival } from '../../../../pipeline/verify/count.js'
import type { LineByHand } from '../../by-hand.js'
import { customerAt, registeringAt } from '../../customers/registering.js'

const clock = (minutes: number) =>
  `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, '0')}`

/** A row of a meter at some minutes of a day of June 2024. */
export const row = (meter: string, day: number, minutes: number, quantity: number) =>
  `A,S-${meter},${meter},6/${day}/2024 ${clock(minutes)},${quantity}`

/** Such rows under another account. */
export const under = (account: string, rows: readonly string[]) =>
  rows.map((one) => one.replace(/^A,/, `${account},`))

/** The client who has an account at a meter. */
export const clientOf = (account: string, meter: string) => `${account}-${meter}`

export const hourly = (meter: string, day: number, hours: readonly number[], quantity: number) =>
  hours.map((hour) => row(meter, day, hour * 60, quantity))

export const wholeDay = Array.from({ length: 24 }, (_, hour) => hour)

export const quarters = (meter: string, day: number, quantity: number) =>
  Array.from({ length: 96 }, (_, slot) => row(meter, day, slot * 15, quantity))

const sums = sql`toDayOfMonth(local_day) AS day, seconds, toUInt32(count()) AS rows,
  toUInt32(sum(quantity)) AS sum`
const each = sql`GROUP BY day, seconds ORDER BY day, seconds`

/** What is stored of meters on a line, and how to send files to it. */
export function createMeters({ context, takeIn }: LineByHand) {
  const { store } = context
  let files = 0
  const name = (feed = 'Electric') => `DEMO_04062024_${feed}_${files++}.csv`
  const days = () =>
    store.rows({
      sql: sql`SELECT meter_id, toString(local_day) AS day, seconds, toString(quantity) AS sum,
          intervals_present, published_seq
        FROM usage_day WHERE intervals_present > 0 ORDER BY meter_id, day`,
    })
  return {
    name,
    /** Registers a client for each account at each meter; see `clientOf`. */
    enter: (meterIds: readonly string[], accounts: readonly string[] = ['A'], own = context) =>
      register(
        { ...registeringAt(store), profile: own.profile },
        meterIds.flatMap((meterId) =>
          accounts.map((accountNumber) => {
            const clientId = clientOf(accountNumber, meterId)
            return customerAt({ clientId, accountNumber, externalSiteId: `S-${meterId}`, meterId })
          }),
        ),
      ),
    send: async (rows: readonly string[], feed = 'Electric', own = context) => {
      const arrival = await takeIn(name(feed), rows)
      await reconcile(own, arrival)
      await settle(own, arrival)
      const state = await context.ledger.state(arrival)
      if (state === undefined) throw new Error('it has no state')
      return state
    },
    series: (meter: string) =>
      store.rows({ sql: sql`SELECT ${sums} FROM usage WHERE meter_id = ${meter} ${each}` }),
    seriesAt: (meter: string, at: Date | undefined) => {
      const known = typed('DateTime64(3)', at?.toISOString().replace(/[TZ]/g, ' ').trim())
      const view = sql`usage_as_of(known_at = ${known})`
      return store.rows({ sql: sql`SELECT ${sums} FROM ${view} WHERE meter_id = ${meter} ${each}` })
    },
    /** Stored sums equal the reads, and each arrival has as many rows as are recorded for it. */
    isSound: async (t: Test) => {
      t.same((await countRowsByArrival(store)).differences, [], 'each arrival has its rows')
      const before = await days()
      await buildAllDays({ store })
      t.same(await days(), before, 'stored days say the same as stale ones')
      t.same(await compareDays(store), [])
    },
  }
}
