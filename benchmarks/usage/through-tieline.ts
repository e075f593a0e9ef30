import { linkSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSubmission } from '../../pipeline/intake/submit.js'
import type { Receipt } from '../../schemas/receipt.js'
import { peakMb, resetPeak } from '../memory.js'
import { processorSeconds } from '../processor.js'
import type { Rig } from '../rig.js'

export interface Passage {
  readonly seconds: number
  /** Of worker and engine together. */
  readonly processorSeconds: number
  readonly receipt: Receipt
}

/** Files from their submit to their receipt, through everything there is. */
export interface ThroughTieline {
  /**
   * Seconds from handing over a finished file to its receipt. The file gets a name of its own and
   * the store is emptied afterwards unless it is to be kept, so that each round begins alike and none
   * is a duplicate.
   */
  measure(path: string, options?: { readonly keep?: boolean }): Promise<Passage>
  /** Processor seconds of worker and engine a second while no file is under way, over some seconds. */
  idle(seconds: number): Promise<number>
  /** The highest peaks of the rounds so far, MB: this process and the worker, and the engine. */
  peaks(): { readonly nodeMb: number; readonly engineMb: number }
  close(): Promise<void>
}

export async function createThroughTieline(rig: Rig): Promise<ThroughTieline> {
  const { store, redisUrl, clickhouse, worker } = rig.stack
  const submission = await createSubmission({ store, redisUrl, profile: rig.profile })
  const nodePids = [process.pid, worker.pid()]
  const spent = () => processorSeconds(worker.pid()) + processorSeconds(clickhouse?.pid())
  let round = 0
  let nodeMb = 0
  let engineMb = 0
  return {
    measure: async (path, { keep = false } = {}) => {
      const named = join(rig.files, `BENCH_05032026_Electric_${++round}.csv`)
      linkSync(path, named)
      for (const pid of [...nodePids, clickhouse?.pid()]) resetPeak(pid)
      const spentBefore = spent()
      const from = performance.now()
      const { arrival } = await submission.submit(named)
      let receipt: Receipt | undefined
      for await (const progress of submission.follow(arrival)) receipt = progress.receipt
      const seconds = (performance.now() - from) / 1_000
      const processor = spent() - spentBefore
      nodeMb = Math.max(nodeMb, ...nodePids.map((pid) => peakMb(pid) ?? 0))
      engineMb = Math.max(engineMb, peakMb(clickhouse?.pid()) ?? 0)
      if (receipt?.status !== 'published') {
        throw new Error(`the file was not published: ${JSON.stringify(receipt)}`)
      }
      if (!keep) {
        await rig.store.command({ sql: 'TRUNCATE TABLE usage_read SYNC' })
        await rig.store.command({ sql: 'TRUNCATE TABLE usage_day_row SYNC' })
      }
      return { seconds, processorSeconds: processor, receipt }
    },
    idle: async (seconds) => {
      const spentBefore = spent()
      const from = performance.now()
      await sleep(seconds * 1_000)
      return (spent() - spentBefore) / ((performance.now() - from) / 1_000)
    },
    peaks: () => ({ nodeMb, engineMb }),
    close: () => submission.close(),
  }
}
