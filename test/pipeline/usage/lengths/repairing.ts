import { copyFileSync } from 'node:fs'
import type { Test } from 'tap'
import { receive } from '../../../../pipeline/steps/receive.js'
import { reconcile } from '../../../../pipeline/steps/reconcile.js'
import { settle } from '../../../../pipeline/steps/settle.js'
import { keptPath } from '../../../../pipeline/verify/archive.js'
import { orderRepair } from '../../../../pipeline/verify/repair.js'
import { verify } from '../../../../pipeline/verify/verify.js'
import type { LineByHand } from '../../by-hand.js'

/** Files that are kept in the archive, and repairs of those whose rows are gone. */
export function createRepairing({ context, arrive }: LineByHand) {
  const { store, folders, ledger } = context
  const complete = async (arrival: number) => {
    await receive(context, arrival)
    await reconcile(context, arrival)
    await settle(context, arrival)
  }
  return {
    keep: async (fileName: string, rows: readonly string[], header?: string): Promise<number> => {
      const { arrival, path } = await arrive(fileName, rows, header)
      await complete(arrival)
      copyFileSync(path, keptPath(folders.archive, { arrival, fileName }))
      return arrival
    },
    lose: (where: string, table = 'usage_read') =>
      store.command({
        sql: `ALTER TABLE ${table} DELETE WHERE ${where}`,
        settings: { mutations_sync: 1 },
      }),
    /**
     * Repairs what verification finds missing, the earliest arrival first; returns how many there were. Undefined
     * where one is refused, because later files have proved other lengths since: then it stays reported.
     */
    repairAll: async (t: Test, { mayRefuse = false } = {}): Promise<number | undefined> => {
      const { damage } = await verify(context, { files: false, lookMs: 1 })
      const lost = damage.filter(({ kind }) => kind === 'rows').map(({ arrival }) => arrival)
      for (const arrival of lost.sort((one, other) => one - other)) {
        const found = await orderRepair(context, { who: 'ann', via: 'command' }, arrival)
        if ('obstacle' in found) throw new Error(found.obstacle)
        await complete(found.arrival)
        const state = await ledger.state(found.arrival)
        if (mayRefuse && state?.status === 'quarantined') {
          t.match(state.reason, /^other stored reads decide today/)
          const after = await verify(context, { files: false, lookMs: 1 })
          t.ok(after.damage.some((one) => one.arrival === arrival))
          return undefined
        }
        t.match(state, { status: 'published' }, `repair of ${arrival}`)
      }
      return lost.length
    },
  }
}
