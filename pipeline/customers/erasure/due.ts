import { groupBy } from '../../../schemas/lists/group-by.js'
import { batchesOf } from '../../store/batches.js'
import type { Store } from '../../store/clickhouse.js'
import { sql, typed } from '../../store/sql.js'
import { countFacts, type Fact, factsByMeter } from '../facts.js'
import type { Hold } from '../holds.js'
import { type RegisterContext, tenancyRules } from '../renewal.js'
import { placeKey, readSites } from '../stored-facts.js'
import { secondOf } from '../stored-tenancies.js'
import { toTenancies } from '../tenancies.js'
import type { DueTermination, Erasure, HeldInterval } from './tombstones.js'

/**
 * Terminations whose days of grace are over and that have erased nothing yet, in their order. Of one for all
 * premises and one for a premise the later counts; those of two premises both do.
 */
export async function dueErasures(
  store: Store,
  {
    today,
    graceDays,
    accountsMax,
  }: { readonly today: string; readonly graceDays: number; readonly accountsMax: number },
): Promise<readonly DueTermination[]> {
  return store.rows<DueTermination>({
    sql: sql`SELECT t.account_number AS accountNumber, t.meter_id AS meterId,
        t.external_site_id AS externalSiteId, toString(t.termination_date) AS terminatedOn,
        toString(h.at) AS endedAt
      FROM termination AS t
      INNER JOIN (SELECT * FROM tenancy_hint WHERE kind = 'ended') AS h ON h.evidence_order = t.version
      INNER JOIN (SELECT account_number, meter_id, max(version) AS last, maxIf(version, external_site_id = '') AS whole
        FROM termination GROUP BY account_number, meter_id) AS l
        ON l.account_number = t.account_number AND l.meter_id = t.meter_id
      WHERE t.termination_date + ${typed('UInt32', graceDays)} < ${typed('Date', today)}
        AND (t.account_number, t.external_site_id, t.meter_id) NOT IN (
          SELECT account_number, external_site_id, meter_id FROM erasure)
        AND if(t.external_site_id = '', t.version = l.last, t.version > l.whole)
      ORDER BY t.version LIMIT ${typed('UInt32', accountsMax)}`,
  })
}

/** What derives tenancies again. */
type Deriving = Pick<RegisterContext, 'store' | 'profile' | 'zone'>

/** The erasures of terminations, with what is known of their accounts now. */
export async function toErasures(
  context: Deriving,
  due: readonly DueTermination[],
  startedAt: Date,
): Promise<readonly Erasure[]> {
  const all = await stretchesOf(context, due)
  const started = { startedAt, state: 'started', erasedAt: undefined, counts: {} } as const
  return due.map((termination, at) => ({ ...termination, ...started, stretches: all[at] ?? [] }))
}

/** What must be known of accounts to erase them and to keep what their facts say of their successors. */
async function stretchesOf(
  context: Deriving,
  due: readonly DueTermination[],
): Promise<readonly (readonly HeldInterval[])[]> {
  const { store } = context
  const places = await placesOf(store, [...new Set(due.map((one) => one.accountNumber))])
  const meters = [...new Set(places.flatMap((all) => all.map(({ meter }) => meter)))]
  const weights = new Map<string, number>()
  const times = new Map<string, Times>()
  for (const some of batchesOf(meters, metersMax)) {
    const wanted = new Set(some)
    const isWanted = ({ meterId }: { readonly meterId: string }) => wanted.has(meterId)
    const { facts } = await readSites(store, some)
    for (const { meterId, externalSiteId, site } of factsByMeter(facts).filter(isWanted)) {
      for (const own of groupBy(site, ({ accountNumber }) => accountNumber)) {
        const { accountNumber } = own[0] as Fact
        weights.set(placeKey({ meterId, externalSiteId, accountNumber }), countFacts(own))
      }
    }
    // A client who was unregistered had the reads of his time, too.
    const registered = facts.filter(({ kind }) => kind !== 'left')
    for (const tenancy of toTenancies(registered, tenancyRules(context)).filter(isWanted)) {
      times.set(placeKey(tenancy), timesOf(tenancy.holds))
    }
  }
  const byAccount = new Map(places.map((all) => [all[0]?.account, all]))
  return due.map(({ accountNumber, meterId, externalSiteId, endedAt }) => {
    return (byAccount.get(accountNumber) ?? [])
      .filter(({ meter }) => ['', meter].includes(meterId))
      .filter(({ site }) => meterId !== '' || ['', site].includes(externalSiteId))
      .flatMap(({ meter, site }) => {
        const key = placeKey({ meterId: meter, externalSiteId: site, accountNumber })
        const held = times.get(key) ?? []
        const all = held.length > 0 ? held : [[endedAt, endedAt] as const]
        return all.map(([from, to], at): HeldInterval => {
          return [meter, site, from, to, at === 0 ? (weights.get(key) ?? 0) + 1 : 0]
        })
      })
  })
}

/**
 * Erasures with what files that were judged before them have added to the facts of their accounts since. A
 * deletion that was cut short has left fewer.
 */
export async function weighAgain(
  context: Deriving,
  started: readonly Erasure[],
): Promise<readonly Erasure[]> {
  const fresh = await stretchesOf(context, started)
  return started.map((erasure, at) => {
    const places = new Map(byPlace(fresh[at] ?? []).map((own) => [placeOf(own), own]))
    for (const known of byPlace(erasure.stretches)) {
      const [[meter, site, from, to, before], ...others] = known
      const weight = places.get(placeOf(known))?.[0][4] ?? 0
      places.set(placeOf(known), [[meter, site, from, to, Math.max(before, weight)], ...others])
    }
    return { ...erasure, stretches: [...places.values()].flat() }
  })
}

/** All stretches of one place; the first has its weight. */
type PlaceStretches = readonly [HeldInterval, ...HeldInterval[]]

function byPlace(stretches: readonly HeldInterval[]): readonly PlaceStretches[] {
  return groupBy(stretches, ([meter, site]) => placeText(meter, site)) as PlaceStretches[]
}

const placeOf = ([[meter, site]]: PlaceStretches) => placeText(meter, site)

/** Of one list of meters whose facts are read. */
const metersMax = 1_000

const placeText = (meter: string, site: string) => JSON.stringify([meter, site])

/** From and until which instants somebody had reads, in their order. */
type Times = readonly (readonly [from: string, to: string])[]

/** When holds had the reads without an account. Those that follow each other, as of different clients, are one. */
function timesOf(holds: readonly Hold[]): Times {
  const unnamed = holds.filter(({ accountNumber }) => accountNumber === '')
  const starts = unnamed.filter(({ from }) => !unnamed.some(({ to }) => to === from))
  const ends = unnamed.filter(({ to }) => !unnamed.some(({ from }) => from === to))
  return starts.map(({ from }, at) => [secondOf(from), secondOf(ends[at]?.to ?? from)])
}

interface KnownPlace {
  readonly account: string
  readonly meter: string
  readonly site: string
}

/** The meters at which something is known of some accounts, grouped by account. */
async function placesOf(
  store: Store,
  accounts: readonly string[],
): Promise<readonly (readonly KnownPlace[])[]> {
  const isOne = sql`account_number IN ${accounts}`
  const columns = sql`account_number AS account, meter_id AS meter, external_site_id AS site`
  const rows = await store.rows<KnownPlace>({
    sql: sql`SELECT ${columns} FROM tenancy WHERE ${isOne}
      UNION DISTINCT
      SELECT ${columns} FROM account_meter WHERE ${isOne}
      UNION DISTINCT
      SELECT ${columns} FROM tenancy_hint WHERE kind != 'ended' AND ${isOne}`,
  })
  return groupBy(rows, ({ account }) => account)
}
