import { renewAll } from '../../../pipeline/customers/registrations.js'
import { readTenancies, type TenancyRow } from '../../../pipeline/customers/stored-tenancies.js'
import type { Store } from '../../../pipeline/store/clickhouse.js'
import { registeringAt } from './registering.js'

/** So many meters are derived one by one, too. */
const aloneOf = 12

/**
 * Tenancies of some meters that differ from the stored ones when they are derived again, all together and
 * some alone. None is stored.
 */
export async function derivedAgain(
  store: Store,
  meterIds: readonly string[],
): Promise<readonly object[]> {
  const known = new Set((await readTenancies(store, meterIds)).map(({ row }) => textOf(row)))
  const wrong: object[] = []
  const insert: Store['insert'] = async (table, rows, settings) => {
    if (table !== 'tenancy') return store.insert(table, rows, settings)
    const derived = rows as readonly (TenancyRow & { readonly version: number })[]
    wrong.push(...derived.filter(({ version: _, ...row }) => !known.has(textOf(row))))
  }
  const context = registeringAt({ ...store, insert })
  for (const some of [meterIds, ...meterIds.slice(0, aloneOf).map((one) => [one])]) {
    await renewAll(context, some)
  }
  return wrong
}

/** What a tenancy says, without the changes that made it so. */
function textOf({ change: _, changed_at: __, holds, ...row }: TenancyRow): string {
  const said = holds.map(({ change: _, ...hold }) => hold)
  return JSON.stringify([Object.entries(row).sort(), said])
}
