import type { Rig } from '../../rig.js'
import type { ChaosCustomer } from '../actors/registrar.js'
import type { Value } from '../sums.js'

export interface Ownership {
  /** Rows of `registered_usage` too many, too few, or with other clients or another quantity. */
  ownersWrong: number
  /** Meters with other tenancies or registrations than their customers give them, in words. */
  readonly tenanciesWrong: string[]
}

interface Family {
  readonly registered: readonly ChaosCustomer[]
  readonly reads: ReadonlyMap<string, Value>
}

/** Holds registrations, tenancies and whose each read is against who registered. */
export async function compareOwners(rig: Rig, found: Ownership, family: Family): Promise<void> {
  for (const meterId of new Set(family.registered.map((one) => one.meterId))) {
    const people = family.registered.filter((one) => one.meterId === meterId)
    const reads = new Map([...family.reads].filter(([key]) => key.startsWith(`${meterId}\t`)))
    const holders = holdersOf(people, reads)
    await compareTenancies(rig, found, { meterId, holders })
    await compareReads(rig, found, { meterId, due: ownersOf(holders, reads) })
  }
}

interface Holder {
  readonly account: string
  /** In the order of the alphabet, with a plus between. */
  readonly clients: string
  /** Epoch seconds; the first has none. */
  readonly from: number | undefined
}

/** Those who called, in the order in which they held the meter. */
function holdersOf(
  people: readonly ChaosCustomer[],
  reads: ReadonlyMap<string, Value>,
): readonly Holder[] {
  const accounts = [...new Set(people.map((one) => one.accountNumber))]
  return accounts.map((account, index) => {
    const own = people.filter((one) => one.accountNumber === account)
    const starts = [...reads]
      .filter(([, { accountNumber }]) => accountNumber === account)
      .map(([key]) => Number(key.split('\t')[1]))
    const clients = own.map(({ clientId }) => clientId).sort()
    const from = index === 0 ? undefined : Math.min(...starts)
    return { account, clients: clients.join('+'), from }
  })
}

/** Whose each read is, by its key; reads under an account that nobody has are nobody's. */
function ownersOf(
  holders: readonly Holder[],
  reads: ReadonlyMap<string, Value>,
): ReadonlyMap<string, string> {
  return new Map(
    [...reads].flatMap(([key, { accountNumber, micros }]): readonly [string, string][] => {
      const owner = holders.find(({ account }) => account === accountNumber)
      return owner === undefined ? [] : [[key, `${owner.clients} ${micros}`]]
    }),
  )
}

async function compareTenancies(
  rig: Rig,
  found: Ownership,
  { meterId, holders }: { meterId: string; holders: readonly Holder[] },
): Promise<void> {
  const rows = await rig.store.rows<{ recorded: string; until: string }>({
    sql: `SELECT concat(account_number, ' ', arrayStringConcat(client_ids, '+'), ' ',
        ifNull(toString(toUnixTimestamp(valid_from)), '-')) AS recorded,
        ifNull(toString(toUnixTimestamp(valid_to)), '-') AS until
      FROM tenancy FINAL WHERE meter_id = {meterId:String} ORDER BY valid_from NULLS FIRST`,
    parameters: { meterId },
  })
  const due = holders.map(({ account, clients, from }) => `${account} ${clients} ${from ?? '-'}`)
  const recorded = rows.map((row) => row.recorded)
  // A tenant who calls again takes his end back, so both are right.
  const isEnded = rows.every(({ until }, index) => {
    return until === '-' || until === String(holders[index + 1]?.from)
  })
  const registrations = await rig.store.rows<{ client_id: string }>({
    sql: `SELECT client_id FROM registration WHERE meter_id = {meterId:String} ORDER BY client_id`,
    parameters: { meterId },
  })
  const clients = holders.flatMap((holder) => holder.clients.split('+')).sort()
  const isSame = isEnded && recorded.join() === due.join()
  if (isSame && registrations.map((row) => row.client_id).join() === clients.join()) return
  const known = registrations.map((row) => row.client_id).join()
  found.tenanciesWrong.push(`${meterId}: recorded ${recorded.join()}, ${known}; due ${due.join()}`)
}

async function compareReads(
  rig: Rig,
  found: Ownership,
  { meterId, due }: { meterId: string; due: ReadonlyMap<string, string> },
): Promise<void> {
  const rows = await rig.store.rows<{ start: number; who: string }>({
    sql: `SELECT toUnixTimestamp(starts_at) AS start,
        concat(arrayStringConcat(client_ids, '+'), ' ', toString(toInt64(quantity * 1000000))) AS who
      FROM registered_usage WHERE meter_id = {meterId:String}`,
    parameters: { meterId },
  })
  const left = new Map(due)
  for (const { start, who } of rows) {
    const key = `${meterId}\t${start}`
    if (left.get(key) !== who) found.ownersWrong++
    else left.delete(key)
  }
  found.ownersWrong += left.size
}
