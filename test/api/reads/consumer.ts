import { readChanges } from '../../../api/reads/changes.js'
import { readUsage, type UsageContext } from '../../../api/reads/usage/usage.js'
import { usageQuerySchema } from '../../../schemas/gateway/reads.js'
import type { UsageAnswer } from './rig.js'

/** The days that the platform wants to have. */
const horizon = { from: '2026-01-01', to: '2026-01-31' } as const

interface Changes {
  readonly publishedSeq: number
  readonly cursor: string | null
  readonly changes: readonly {
    readonly meterId: string
    readonly firstDay: string
    readonly lastDay: string
    readonly clientIds: readonly string[]
  }[]
}

/**
 * A platform that keeps a copy as the guide says, and dies before some of its requests: it loses where
 * it was in a page, and keeps what it has written and the number of the last complete page. It knows
 * whose reads of a meter it ever had, also when it died between deleting them and reading them again.
 */
export function createPlatform(context: UsageContext, diesNow: () => boolean) {
  const rows = new Map<string, number>()
  const readersOf = new Map<string, Set<string>>()
  let since = 0
  let deaths = 0
  const live = () => {
    if (!diesNow()) return
    deaths++
    throw new RangeError('killed')
  }
  const readAgain = async (clientId: string, meterId: string, days: typeof horizon) => {
    live()
    const query = usageQuerySchema.parse({ ...days, meterId, granularity: 'interval' })
    const reading = await readUsage(context, clientId, query)
    if (reading.kind !== 'found') return
    for (const { start, quantity } of (JSON.parse(reading.body) as UsageAnswer).points) {
      if (quantity !== null) rows.set(`${clientId} ${meterId} ${start}`, quantity)
    }
  }
  const apply = async ({ meterId, firstDay, lastDay, clientIds }: Changes['changes'][number]) => {
    const days = {
      from: firstDay > horizon.from ? firstDay : horizon.from,
      to: lastDay < horizon.to ? lastDay : horizon.to,
    } as typeof horizon
    if (days.from > days.to) return
    const readers = new Set([...(readersOf.get(meterId) ?? []), ...clientIds])
    readersOf.set(meterId, readers)
    for (const key of rows.keys()) {
      const [, meter, start = ''] = key.split(' ')
      const day = new Date(Date.parse(start) - 5 * 3_600_000).toISOString().slice(0, 10)
      if (meter === meterId && day >= days.from && day <= days.to) rows.delete(key)
    }
    for (const clientId of readers) await readAgain(clientId, meterId, days)
  }
  const pullOnce = async () => {
    let cursor: string | null | undefined
    while (cursor !== null) {
      live()
      const query = cursor === undefined ? { since: String(since) } : { cursor }
      const reading = await readChanges({ ...context, pageMax: 5 }, query)
      if (reading.kind !== 'found') throw new Error(JSON.stringify(reading))
      const page = JSON.parse(reading.body) as Changes
      for (const change of page.changes) await apply(change)
      since = page.publishedSeq
      cursor = page.cursor
    }
  }
  return {
    rows,
    deaths: () => deaths,
    /** Begins again after each death. */
    pull: async (): Promise<void> => {
      for (;;) {
        try {
          return await pullOnce()
        } catch (error) {
          if (!(error instanceof RangeError)) throw error
        }
      }
    },
  }
}
