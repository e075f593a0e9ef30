import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Test } from 'tap'
import { toEntries } from '../../../../pipeline/check.js'
import type { PipelineContext } from '../../../../pipeline/context.js'
import { pushSource } from '../../../../pipeline/intake/arrive.js'
import type { FileState } from '../../../../pipeline/ledger/file-state.js'
import { createLedger, type FileEntry } from '../../../../pipeline/ledger/ledger.js'
import { createSubmitSource } from '../../../../pipeline/sources/folder.js'
import { receive } from '../../../../pipeline/steps/receive.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import type { Store } from '../../../../pipeline/store/clickhouse.js'
import { createZone } from '../../../../schemas/time/zone.js'
import { header, storyProfile } from '../../../story/rig/stack.js'
import { createLineByHand } from '../../by-hand.js'

export interface Deliveries {
  readonly store: Store
  /** When files arrive. */
  arrivesAt: Date
  /** The line of a utility. */
  contextOf(timeZone: string, usage?: object): PipelineContext
  /** Takes in a file of rows, or the file of a push. */
  arrive(
    context: PipelineContext,
    rows: readonly string[],
    options?: { readonly isPush?: boolean },
  ): Promise<number>
  /** The same, with its verdict carried out. */
  deliver(
    context: PipelineContext,
    rows: readonly string[],
    options?: { readonly isPush?: boolean },
  ): Promise<FileState>
  /** The reads of a meter, each as `HH:MM quantity` in UTC, in the order of time. */
  readsOf(meter: string): Promise<readonly string[]>
  /** The same of many meters with one statement. */
  readsOfEach(meters: readonly string[]): Promise<ReadonlyMap<string, readonly string[]>>
}

/** A line whose files are judged one after the other, and published. */
export async function createDeliveries(t: Test): Promise<Deliveries> {
  const line = await createLineByHand(t)
  const { store } = line.context
  let files = 0
  const deliveries: Deliveries = {
    store,
    arrivesAt: new Date('2026-11-01T00:00:00Z'),
    contextOf: (timeZone, usage = {}) => {
      const profile = storyProfile({ profile: { timeZone, usage } })
      const now = () => deliveries.arrivesAt
      return {
        ...line.context,
        profile,
        zone: createZone(timeZone),
        ledger: createLedger(store, now),
        sources: new Map([
          ...line.context.sources,
          [pushSource, { ...createSubmitSource(), name: pushSource }],
        ]),
        now,
      }
    },
    arrive: async (context, rows, { isPush = false } = {}) => {
      const path = join(context.folders.inbox, `DEMO_04112025_Electric_${++files}.csv`)
      await writeFile(path, `${[header, ...rows].join('\n')}\n`)
      const [entry] = (await toEntries([path])) as [FileEntry]
      const source = isPush ? pushSource : 'submit'
      const { arrival } = await context.ledger.claim({ ...entry, source })
      await receive(context, arrival)
      return arrival
    },
    deliver: async (context, rows, options) => {
      const arrival = await deliveries.arrive(context, rows, options)
      await reconcile(context, arrival)
      return (await context.ledger.state(arrival)) as FileState
    },
    readsOf: async (meter) => (await deliveries.readsOfEach([meter])).get(meter) ?? [],
    readsOfEach: async (meters) => {
      const rows = await store.rows<{ meter: string; read: string }>({
        sql: `SELECT meter_id AS meter,
            concat(formatDateTime(starts_at, '%H:%i', 'UTC'), ' ', toString(quantity)) AS read
          FROM usage WHERE meter_id IN {meters:Array(String)} ORDER BY starts_at, seconds`,
        parameters: { meters },
      })
      const found = new Map<string, string[]>(meters.map((meter) => [meter, []]))
      for (const { meter, read } of rows) found.get(meter)?.push(read)
      return found
    },
  }
  return deliveries
}
