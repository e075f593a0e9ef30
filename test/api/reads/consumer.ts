import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
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

/** What a platform has written: quantities, whose reads of a meter it ever had, and the last complete page. */
export interface Kept {
  readonly rows: Map<string, number>
  readonly readersOf: Map<string, Set<string>>
  since: number
}

export const nothingKept = (): Kept => ({ rows: new Map(), readersOf: new Map(), since: 0 })

/** The file is complete, or as it was. */
export function writeKept(path: string, { rows, readersOf, since }: Kept): void {
  const readers = [...readersOf].map(([meter, clients]) => [meter, [...clients]])
  writeFileSync(`${path}.new`, JSON.stringify({ rows: [...rows], readers, since }))
  renameSync(`${path}.new`, path)
}

export function readKept(path: string): Kept {
  if (!existsSync(path)) return nothingKept()
  const { rows, readers, since } = JSON.parse(readFileSync(path, 'utf8')) as {
    readonly rows: [string, number][]
    readonly readers: [string, string[]][]
    readonly since: number
  }
  const sets = readers.map(([meter, clients]) => [meter, new Set(clients)] as const)
  return { rows: new Map(rows), readersOf: new Map(sets), since }
}

/**
 * A platform that keeps a copy as the guide says. Whatever ends it, it loses where it was in a page, and keeps
 * what it has written: `wrote` is called each time, `asks` before each request.
 */
export function createPlatform(
  context: UsageContext,
  kept: Kept,
  {
    asks = () => undefined,
    wrote = () => undefined,
  }: { readonly asks?: () => void; readonly wrote?: () => void },
) {
  const { rows, readersOf } = kept
  const readAgain = async (clientId: string, meterId: string, days: typeof horizon) => {
    asks()
    const query = usageQuerySchema.parse({ ...days, meterId, granularity: 'interval' })
    const reading = await readUsage(context, clientId, query)
    if (reading.kind !== 'found') return
    for (const { start, quantity } of (JSON.parse(reading.body) as UsageAnswer).points) {
      if (quantity !== null) rows.set(`${clientId} ${meterId} ${start}`, quantity)
    }
    wrote()
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
    wrote()
    for (const clientId of readers) await readAgain(clientId, meterId, days)
  }
  const catchUp = async () => undefined
  return async (): Promise<void> => {
    let cursor: string | null | undefined
    while (cursor !== null) {
      asks()
      const query = cursor === undefined ? { since: String(kept.since) } : { cursor }
      const reading = await readChanges({ ...context, catchUp, pageMax: 5 }, query)
      if (reading.kind !== 'found') throw new Error(JSON.stringify(reading))
      const page = JSON.parse(reading.body) as Changes
      for (const change of page.changes) await apply(change)
      kept.since = page.publishedSeq
      cursor = page.cursor
      wrote()
    }
  }
}
