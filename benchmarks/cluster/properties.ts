import type { Store } from '../../pipeline/store/clickhouse.js'
import { type Replica, type Replicas, replicas } from '../../test/rig/replicas/start.js'

/** What must never happen on any replica, and good work that was refused. */
export const properties = [
  'published reads vanished',
  'unpublished reads seen',
  'numbers given twice',
  'erased rows seen',
  'good files quarantined',
  'statements refused',
] as const
export type Property = (typeof properties)[number]

export interface Violation {
  readonly property: Property
  readonly what: string
}

export interface Watch {
  /** Looks at both replicas and returns what is wrong now for the first time. */
  look(): Promise<readonly Violation[]>
  /** Looks for numbers that were given twice; both replicas must be up to date. */
  lookAtNumbers(): Promise<readonly Violation[]>
  /** Reads of the account may vanish now. */
  erasing(account: string): void
  /** From now on no row of the account may be seen on any replica. */
  erased(account: string): void
}

interface Seen {
  readonly meter: string
  readonly starts: string
  readonly version: string
  readonly arrival: number
  readonly account: string
}

const numbered = [
  ['arrival', 'arrival', 'claim'],
  ['publication', 'published_seq', "concat(claim, '-', toString(arrival))"],
  ['audit_log', 'number', 'claim'],
] as const

/** Watches the reads of meters that begin with a prefix. */
export function createWatch({ stores }: Replicas, prefix: string): Watch {
  const shown: Readonly<Record<Replica, Map<string, bigint>>> = { r1: new Map(), r2: new Map() }
  const erasing = new Set<string>()
  const erased = new Set<string>()
  const known = new Set<string>()
  const news = (found: readonly Violation[]) =>
    found.filter(({ property, what }) => {
      const isNew = !known.has(property + what)
      known.add(property + what)
      return isNew
    })
  const lookAt = async (
    replica: Replica,
    published: ReadonlySet<number>,
    seen: readonly Seen[],
  ) => {
    const found: Violation[] = []
    const now = new Map(seen.map((one) => [`${one.meter} ${one.starts}`, BigInt(one.version)]))
    for (const { arrival, account } of seen) {
      if (!published.has(arrival)) {
        found.push({ property: 'unpublished reads seen', what: `${replica}: arrival ${arrival}` })
      }
      if (erased.has(account)) {
        found.push({ property: 'erased rows seen', what: `${replica}: account ${account}` })
      }
    }
    for (const [key, version] of shown[replica]) {
      const isGoing = [...erasing].some((account) => key.startsWith(account))
      if (isGoing || (now.get(key) ?? 0n) >= version) continue
      found.push({ property: 'published reads vanished', what: `${replica}: ${key}` })
    }
    for (const [key, version] of now) shown[replica].set(key, version)
    return found
  }
  return {
    look: async () => {
      const seen = await Promise.all(replicas.map((one) => readUsage(stores[one], prefix)))
      const published = await publishedOn(replicas.map((one) => stores[one]))
      const found = await Promise.all(
        replicas.map((one, at) => lookAt(one, published, seen[at] ?? [])),
      )
      return news(found.flat())
    },
    lookAtNumbers: async () => {
      const found: Violation[] = []
      for (const [table, number, owner] of numbered) {
        const rows = await stores.r1.rows<{ number: string }>({
          sql: `SELECT toString(${number}) AS number FROM ${table}
            GROUP BY ${number} HAVING uniqExact(${owner}) > 1`,
        })
        for (const row of rows) {
          found.push({ property: 'numbers given twice', what: `${table} ${row.number}` })
        }
      }
      return news(found)
    },
    erasing: (account) => void erasing.add(account),
    erased: (account) => void erased.add(account),
  }
}

function readUsage(store: Store, prefix: string): Promise<readonly Seen[]> {
  return store.rows<Seen>({
    sql: `SELECT meter_id AS meter, toString(starts_at) AS starts, toString(u.version) AS version,
        toUInt32(bitShiftRight(u.version, 32)) AS arrival, account_number AS account
      FROM usage AS u WHERE startsWith(meter_id, {prefix:String})`,
    parameters: { prefix },
  })
}

/** A file may be seen once any replica has its verdict, which is written before it is attached. */
async function publishedOn(stores: readonly Store[]): Promise<ReadonlySet<number>> {
  const each = await Promise.all(
    stores.map((store) =>
      store.rows<{ arrival: number }>({
        sql: "SELECT arrival FROM file_state WHERE status IN ('publishing', 'published')",
      }),
    ),
  )
  return new Set(each.flat().map(({ arrival }) => arrival))
}
